"""The judge: hits become findings, findings and facts an outcome with its reasons (contract §2.3-2.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

import jsonschema_rs

from checkpoints.canonical.pointers import escape
from checkpoints.checks import runner
from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.checks.risk import effective_risk
from checkpoints.checks.secrets import mask, masked
from checkpoints.checks.shape import open_blocking
from checkpoints.checks.silence import ruling
from checkpoints.checks.tokens import counted
from checkpoints.formats import FORMATS, schema
from checkpoints.types import (
    CheckContext,
    CheckPolicy,
    Disposition,
    Finding,
    Hit,
    Judgement,
    Origin,
    Outcome,
    Reason,
    Risk,
    Severity,
    Submission,
)

STOPPING = (Disposition.REVIEW, Disposition.REJECT)
UNKNOWN_RULE = "SYS-03"
REPORTED = "REP"
NATIVE: Final = frozenset({"handoff/1", "prompty.engine/1"})


def judge(submission: Submission, context: CheckContext) -> Judgement:
    """What one run of the catalogue over one revision says. Never raises for what a document holds."""
    run = runner.run(submission, context)
    hits = [
        *run.hits,
        *_unknown_codes(context.policy),
        *_not_interpreted(submission),
        *_unreadable(submission),
    ]
    failed = bool(run.failures) or any(hit.code not in CATALOGUE for hit in hits)
    failed = failed or any(code not in CATALOGUE for code in context.policy.checks)
    return _judgement(submission, context, hits, run, failed=failed)


def judge_without_run(submission: Submission, context: CheckContext, hit: Hit) -> Judgement:
    """The flagged judgement of a run that never returned (SYS-02) or of a policy nobody can read (SYS-03)."""
    none = runner.Run((), (), (), ())
    return _judgement(submission, context, [hit], none, failed=True)


def did_not_finish(attempts: int) -> Hit:
    """SYS-02, for the sweep that gives up on a run."""
    return Hit(
        "SYS-02",
        "",
        f"The checks were started {attempts} times and never finished. A person must read this document; "
        "tell the platform team its checkpoint id.",
        actual=attempts,
    )


def unreadable_policy(version: int, detail: str) -> Hit:
    """SYS-03, for a stored policy that does not compile."""
    return Hit(
        UNKNOWN_RULE,
        "",
        f"Policy version {version} cannot be read ({detail}). Nothing was checked against it: a person "
        "must read this document, and a manager must publish a policy that can be read.",
        actual=version,
    )


def found_later(hit: Hit, policy: CheckPolicy) -> Finding | None:
    """What the sweep finds after the run (HC-79), as a finding under the policy; None where it is ignored.

    The handoff is over by then: whatever the disposition, nothing can be stopped any more.
    """
    finding = _finding(hit, "", policy)
    return None if finding.disposition is Disposition.IGNORE else finding


def _judgement(
    submission: Submission, context: CheckContext, hits: Iterable[Hit], run: runner.Run, *, failed: bool
) -> Judgement:
    policy = context.policy
    findings = tuple(
        sorted(
            (
                finding
                for finding in (_finding(hit, submission.format, policy) for hit in hits)
                if finding.disposition is not Disposition.IGNORE
            ),
            key=lambda finding: (-finding.severity.rank, finding.code, finding.pointer, finding.message),
        )
    )
    risk = effective_risk(submission, policy, {finding.code for finding in findings})
    reasons = tuple(_reasons(submission, context, findings, risk, failed=failed))
    outcome = _outcome(findings, reasons)
    tokens = counted(submission, context)
    return Judgement(
        outcome=outcome,
        reasons=reasons,
        findings=findings,
        risk=risk,
        approvals_required=policy.approvals[risk] if outcome is Outcome.FLAGGED else 0,
        complete=not failed,
        document_tokens=tokens.document,
        context_tokens=tokens.context,
        families=run.families,
        not_judged=run.not_judged,
    )


def _outcome(findings: tuple[Finding, ...], reasons: tuple[Reason, ...]) -> Outcome:
    if any(finding.disposition is Disposition.REJECT for finding in findings):
        return Outcome.REJECTED
    return Outcome.FLAGGED if reasons else Outcome.CLEARED


def _reasons(
    submission: Submission,
    context: CheckContext,
    findings: tuple[Finding, ...],
    risk: Risk,
    *,
    failed: bool,
) -> Iterator[Reason]:
    stopping = [finding for finding in findings if finding.disposition in STOPPING]
    facts = submission.facts
    holds = {
        Reason.FINDINGS: any(finding.origin is Origin.OURS for finding in stopping),
        Reason.RISK: risk is Risk.HIGH,
        Reason.SENDER: facts.human_approval_required,
        Reason.AWAITING_APPROVAL: facts.task_status == "awaiting_approval",
        Reason.BLOCKING_DECISION: bool(open_blocking(submission, context.answers)),
        Reason.RECONCILIATION: facts.reconciliation_required,
        Reason.INTERRUPT: facts.waits_for_person,
        Reason.REPORTED: any(finding.origin is Origin.REPORTED for finding in stopping),
        Reason.CHECK_FAILURE: failed,
    }
    return (reason for reason in Reason if holds[reason])


def _finding(hit: Hit, format_name: str, policy: CheckPolicy) -> Finding:
    if hit.code not in CATALOGUE:
        hit = _unknown_code(hit.code)
    severity, disposition = ruling(hit, policy)
    if hit.code == UNKNOWN_RULE and hit.actual == format_name:
        disposition = policy.opaque
        severity = Severity.HIGH if disposition in STOPPING else Severity.MEDIUM
    return Finding(
        code=hit.code,
        name=CATALOGUE[hit.code].name,
        severity=severity,
        disposition=disposition,
        pointer=hit.pointer,
        message=mask(hit.message),
        expected=masked(hit.expected),
        actual=masked(hit.actual),
        origin=Origin.REPORTED if hit.code == REPORTED else Origin.OURS,
    )


def _unknown_code(code: str) -> Hit:
    return Hit(
        UNKNOWN_RULE,
        "",
        f"{code} is no code of the catalogue of this installation, so what it means is unknown. A person "
        "must read this document; see GET /api/v1/checks for the known codes.",
        actual=code,
    )


def _unknown_codes(policy: CheckPolicy) -> Iterator[Hit]:
    """SYS-03 for each code that the policy steers and this installation does not know."""
    return (_unknown_code(code) for code in policy.checks if code not in CATALOGUE)


def _unreadable(submission: Submission) -> Iterator[Hit]:
    """SYS-03 for a framework document that its own format's reader cannot make sense of: fail closed.

    The native formats name each broken member themselves (HC-01, HC-03, EC-01).
    """
    if submission.format in NATIVE or not FORMATS[submission.format].interpreted:
        return
    error = next(_validator(submission.format).iter_errors(submission.payload), None)
    if error is not None:
        place = "".join(f"/{escape(str(part))}" for part in error.instance_path)
        yield Hit(
            UNKNOWN_RULE,
            place,
            f"This is no document of the format {submission.format}: {place or 'the top level'} does not fit its "
            "schema, so no check can judge it. GET /api/v1/schemas/"
            + submission.format
            + " gives the schema.",
            expected=f"a {submission.format} document",
        )


@cache
def _validator(format_name: str) -> jsonschema_rs.Draft202012Validator:
    """Of the payload alone: what the envelope says was judged at admission."""
    whole = schema(format_name)
    return jsonschema_rs.Draft202012Validator({"$ref": "#/$defs/document", "$defs": whole["$defs"]})


def _not_interpreted(submission: Submission) -> Iterator[Hit]:
    """SYS-03 for a document whose format no check can read; the policy's `opaque` gives its disposition."""
    if not FORMATS[submission.format].interpreted:
        yield Hit(
            UNKNOWN_RULE,
            "",
            f"No check can read the format {submission.format}: the document is shown and digested, not "
            "judged. Read it before it goes on.",
            actual=submission.format,
        )
