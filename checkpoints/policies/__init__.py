"""Policies: the document people write, its compiled form, and the judgement it gives (contract §2, §8)."""

from checkpoints.checks.risk import effective_risk, matching_rules
from checkpoints.policies.compiling import DEFAULT_POLICY, compile_policy
from checkpoints.policies.document import defaults, schema, validate, with_defaults
from checkpoints.policies.doubts import doubts
from checkpoints.policies.judging import (
    did_not_finish,
    found_later,
    judge,
    judge_without_run,
    unreadable_policy,
)

__all__ = [
    "DEFAULT_POLICY",
    "compile_policy",
    "defaults",
    "did_not_finish",
    "doubts",
    "effective_risk",
    "found_later",
    "judge",
    "judge_without_run",
    "matching_rules",
    "schema",
    "unreadable_policy",
    "validate",
    "with_defaults",
]
