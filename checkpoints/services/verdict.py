"""From a document to a verdict, and from a verdict to rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from uuid import UUID

import structlog

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.faults import crash_on
from checkpoints.formats import reread
from checkpoints.handoffs.calls import call_results
from checkpoints.handoffs.machine import Event
from checkpoints.models import CheckRun, Handoff
from checkpoints.policies import did_not_finish, judge, judge_without_run, unreadable_policy
from checkpoints.services.clock import now
from checkpoints.services.history import Case
from checkpoints.services.indexing import remember_calls
from checkpoints.services.policy import ActivePolicy
from checkpoints.services.review_round import begin
from checkpoints.services.transition import Move, move_many
from checkpoints.types import (
    Actor,
    CheckContext,
    CheckPolicy,
    Finding,
    JSONObject,
    Judgement,
    Outcome,
    Risk,
)

log = structlog.get_logger("checkpoints.verdict")

CHECKER = Actor(kind="system", id="system:checks", label="Checks")
EVENTS = {Outcome.CLEARED: Event.CLEAR, Outcome.FLAGGED: Event.FLAG, Outcome.REJECTED: Event.REJECT}


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict on its way to the database, fenced by the attempt that made it."""

    handoff_id: UUID
    attempt: int
    revision: int
    judgement: Judgement
    policy_version: int
    policy: CheckPolicy
    started_at: datetime
    check_ms: float
    likeness: str | None = None
    expected_return: bool = False
    judged_after: int | None = None
    calls: Mapping[str, str] = field(default_factory=dict)  # call_id -> digest of its result


def judge_row(case: Case, attempt: int, context: CheckContext, policy: ActivePolicy | None) -> Judged:
    """Judge one revision. Whatever goes wrong becomes a flagged verdict, never a cleared one."""
    handoff, submission = case.handoff, case.submission
    highest = context.highest_judged_sequence
    crash_on(handoff.checkpoint_id)
    started = time.monotonic()
    if policy is None:
        unreadable = unreadable_policy(0, "The newest version does not compile.")
        judgement = judge_without_run(submission, context, unreadable)
    else:
        judgement = judge(submission, context)
    return Judged(
        handoff_id=handoff.pk,
        attempt=attempt,
        revision=handoff.revision,
        judgement=judgement,
        policy_version=policy.version if policy else 0,
        policy=context.policy,
        started_at=context.received_at,
        check_ms=round((time.monotonic() - started) * 1000, 2),
        likeness=case.likeness,
        expected_return=submission.facts.expected_return,
        judged_after=highest if highest is not None and highest > handoff.handoff_sequence else None,
        calls=call_results(submission),
    )


def exhausted(handoff: Handoff, body: bytes, policy: ActivePolicy | None) -> Judged:
    """The verdict on a document whose check runs died. It is read, never judged: judging is what kills."""
    context = CheckContext(
        received_at=handoff.received_at,
        policy=policy.compiled if policy else CheckPolicy(),
        checkpoint_id=handoff.checkpoint_id,
        handoff_sequence=handoff.handoff_sequence,
    )
    hit = did_not_finish(handoff.check_attempts)
    try:
        submission = reread(body)
        judgement = judge_without_run(submission, context, hit)
    except Exception:  # even reading fails: a person must still see it, and nobody knows what is at stake
        log.exception("verdict.unreadable", handoff_id=str(handoff.pk))
        submission = reread(b"{}")
        judgement = replace(
            judge_without_run(submission, context, hit),
            risk=Risk.HIGH,
            approvals_required=context.policy.approvals[Risk.HIGH],
        )
    return Judged(
        handoff_id=handoff.pk,
        attempt=handoff.check_attempts,
        revision=handoff.revision,
        judgement=judgement,
        policy_version=policy.version if policy else 0,
        policy=context.policy,
        started_at=handoff.received_at,
        check_ms=0.0,
        expected_return=submission.facts.expected_return,
    )


def finding_json(finding: Finding) -> JSONObject:
    """A finding as the API shows it."""
    return {key: getattr(value, "value", value) for key, value in asdict(finding).items()}


def write_verdicts(judged: Sequence[Judged], locked: Mapping[UUID, Handoff]) -> None:
    """Check runs, states and audit entries of a batch, inside the caller's transaction."""
    at = now()
    CheckRun.objects.bulk_create([check_run(item, at) for item in judged])
    moves = []
    for item in judged:
        handoff = locked[item.handoff_id]
        handoff.judged_after = item.judged_after
        apply_verdict(handoff, item, at)
        moves.append(
            Move(
                handoff,
                EVENTS[item.judgement.outcome],
                CHECKER,
                at,
                detail={
                    "reasons": [reason.value for reason in item.judgement.reasons],
                    "findings": [finding.code for finding in item.judgement.findings],
                },
            )
        )
    remember_calls(calls=[(locked[item.handoff_id], item.calls) for item in judged], at=at)
    move_many(moves)


def check_run(item: Judged, at: datetime) -> CheckRun:
    judgement = item.judgement
    return CheckRun(
        handoff_id=item.handoff_id,
        revision=item.revision,
        attempt=item.attempt,
        policy_version=item.policy_version,
        started_at=item.started_at,
        finished_at=at,
        outcome=judgement.outcome.value,
        reasons=[reason.value for reason in judgement.reasons],
        complete=judgement.complete,
        families=list(judgement.families),
        not_judged=list(judgement.not_judged),
        findings=[finding_json(finding) for finding in judgement.findings],
        risk=judgement.risk.value,
        approvals_required=judgement.approvals_required,
        document_tokens=judgement.document_tokens,
        context_tokens=judgement.context_tokens,
    )


def apply_verdict(handoff: Handoff, item: Judged, at: datetime) -> None:
    """Copy the verdict onto the row; where it stops the handoff, a review begins."""
    copy_verdict(handoff, item, at)
    if item.judgement.outcome is Outcome.FLAGGED:
        begin(handoff=handoff, policy=item.policy, at=at)
        handoff.approvals_required = item.judgement.approvals_required
    else:
        handoff.approvals_required = 0


def copy_verdict(handoff: Handoff, item: Judged, at: datetime) -> None:
    """Copy what queue and lists need onto the row; the run keeps the whole."""
    judgement, policy = item.judgement, item.policy
    handoff.check_lease_until = None
    handoff.check_claimed_by = None
    handoff.outcome = judgement.outcome.value
    handoff.reasons = [reason.value for reason in judgement.reasons]
    handoff.severity = max((finding.severity.rank for finding in judgement.findings), default=0)
    handoff.first_finding = title_of(judgement.findings[0]) if judgement.findings else ""
    handoff.finding_codes = sorted({finding.code for finding in judgement.findings})
    handoff.finding_count = len(judgement.findings)
    handoff.risk = judgement.risk.value
    handoff.policy_version = item.policy_version
    handoff.checked_at = handoff.checked_at or at  # the order of the session is that of the first verdicts
    handoff.likeness = item.likeness
    handoff.expected_return = item.expected_return
    handoff.max_retries = min(handoff.max_retries, policy.max_retries)
    handoff.round_attempts = 0


def title_of(finding: Finding) -> str:
    """The finding in a few words, for a list."""
    entry = CATALOGUE.get(finding.code)
    return finding.message if entry is None or finding.code == "REP" else entry.title
