"""Checks that need what the other checks found. The runner calls them last, with all hits so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.checks.risk import effective_risk, matching_rules
from checkpoints.checks.shape import view
from checkpoints.checks.silence import ruling
from checkpoints.types import CheckContext, Hit, Risk, Severity, Submission


def reported(submission: Submission, context: CheckContext, hits: tuple[Hit, ...]) -> Iterator[Hit]:
    """REP: the sender's own consistency issues, as severe as the sender says."""
    for issue in submission.facts.reported_issues:
        code = f" {issue.code}" if issue.code else ""
        yield Hit(
            "REP",
            issue.pointer,
            f"The sender reported{code}: {issue.message or 'no message given'}",
            severity=issue.severity,
        )


def no_person_at_high_risk(
    submission: Submission, context: CheckContext, hits: tuple[Hit, ...]
) -> Iterator[Hit]:
    """HC-26: high where the sender itself calls the risk high, low where the policy does."""
    document = view(submission)
    flag = document.given("human_approval_required")
    if flag is None or flag.value is not False or submission.facts.human_approval_required:
        return
    codes = {hit.code for hit in hits}
    if effective_risk(submission, context.policy, codes) is not Risk.HIGH:
        return
    by_sender = submission.facts.risk_level is Risk.HIGH
    rules = [rule for rule in matching_rules(submission, context.policy, codes) if rule.level is Risk.HIGH]
    who = "its sender calls the risk high"
    if not by_sender:
        who = f"the policy calls the risk high ({_described(rules[0].when) if rules else 'by default'})"
    yield Hit(
        "HC-26",
        flag.pointer,
        f"human_approval_required is false, but {who}. A person is asked whatever the flag says.",
        True,
        False,
        severity=None if by_sender else Severity.LOW,
    )


def _described(when: Mapping[str, tuple[str, ...]]) -> str:
    return ", ".join(f"{member} {' or '.join(values)}" for member, values in when.items())


def self_assessment(submission: Submission, context: CheckContext, hits: tuple[Hit, ...]) -> Iterator[Hit]:
    """HC-74: the sender says it looked, and saw nothing as bad as what was found."""
    document = view(submission)
    claim = document.given("reported_issues")
    if claim is None or not isinstance(claim.value, list):
        return
    if any(issue.severity is Severity.HIGH for issue in submission.facts.reported_issues):
        return
    high = sorted(
        {hit.code for hit in hits if hit.code in CATALOGUE and hit.code != "REP" and _is_high(hit, context)}
    )
    if high:
        said = "none" if not claim.value else "none of them high"
        yield Hit(
            "HC-74",
            claim.pointer,
            f"The sender reports {said}, but high ones were found ({', '.join(high)}). Its self-assessment "
            "cannot be relied on.",
            [*high],
            len(claim.value),
        )


def _is_high(hit: Hit, context: CheckContext) -> bool:
    return ruling(hit, context.policy)[0] is Severity.HIGH


LATE_CHECKS = (reported, no_person_at_high_risk, self_assessment)
