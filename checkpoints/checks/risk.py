"""How risky a handoff is: the higher of what its sender says and of what the policy's rules say."""

from __future__ import annotations

from collections.abc import Iterable

from checkpoints.types import CheckPolicy, Risk, RiskRule, Submission


def effective_risk(submission: Submission, policy: CheckPolicy, codes: Iterable[str] = ()) -> Risk:
    """Contract §8: `risk.default` speaks only where neither the sender nor a rule names a level.

    `codes` are the finding codes that rules with `finding` may match.
    """
    named = [rule.level for rule in matching_rules(submission, policy, codes)]
    if submission.facts.risk_level is not None:
        named.append(submission.facts.risk_level)
    return max(named, key=lambda risk: risk.rank, default=policy.risk_default)


def matching_rules(
    submission: Submission, policy: CheckPolicy, codes: Iterable[str] = ()
) -> tuple[RiskRule, ...]:
    """The policy's risk rules that match, in the policy's order."""
    if not policy.risk_rules:
        return ()
    facts = submission.facts
    values: dict[str, frozenset[str]] = {
        "target_role": _one(facts.target_role),
        "agent_role": _one(facts.agent_role),
        "task_id": _one(facts.task_id),
        "format": frozenset({submission.format}),
        "finding": frozenset(codes),
        "tool_name": frozenset(facts.tool_names),
    }
    return tuple(
        rule
        for rule in policy.risk_rules
        if all(not values[member].isdisjoint(wanted) for member, wanted in rule.when.items())
    )


def _one(value: str | None) -> frozenset[str]:
    return frozenset() if value is None else frozenset({value})
