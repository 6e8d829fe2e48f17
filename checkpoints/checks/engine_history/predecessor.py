"""The two documents that the continuity checks lay side by side."""

from __future__ import annotations

from typing import NamedTuple

from checkpoints.canonical.equality import same_value
from checkpoints.checks.engine_history.journal import journal, kinds_since
from checkpoints.checks.engine_reading import (
    flag,
    own_members,
    whole_number,
)
from checkpoints.checks.shape import shown
from checkpoints.types import CheckContext, JSONObject, Severity, Submission


class Pair(NamedTuple):
    """`before` and `now` are payloads of one (session, turn, run); `label` names the earlier one in sentences."""

    before: JSONObject
    now: JSONObject
    label: str


def pair(submission: Submission, context: CheckContext) -> Pair | None:
    """None where there is no predecessor, or where this is the same checkpoint handed over once more."""
    previous = context.previous
    if previous is None or previous.format != submission.format:
        return None
    before, now = previous.payload, submission.payload
    if any(before.get(name) != now.get(name) for name in ("sessionId", "turnId", "runId")):
        return None
    if before.get("id") == now.get("id") and same_value(own_members(before), own_members(now)):
        return None
    return Pair(
        before, now, shown(previous.facts.source_id or previous.checkpoint_id or "the previous checkpoint")
    )


def last_sequence(payload: JSONObject) -> int | None:
    return whole_number(payload.get("lastSequence"))


def rewrite(submission: Submission, found: Pair) -> tuple[bool, Severity | None]:
    """Whether a host policy explains other messages, and the severity where nothing does (None: the catalogue's).

    Without a journal the checkpoint's own mark is the evidence, and its absence proves little: low.
    """
    events = journal(submission)
    if events is None:
        marked = flag(found.now, "policyAppliedForIteration") and flag(found.now, "resumeSameIteration")
        return bool(marked), Severity.LOW
    return "policy_applied" in kinds_since(events, last_sequence(found.before)), None
