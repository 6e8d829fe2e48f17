"""When two handoffs say the same: their content without what differs in every post."""

from __future__ import annotations

from checkpoints.canonical import digest
from checkpoints.types import JSONObject, JSONValue, Submission

# Ids of the post, of its sender's instance and of its tool calls, times, sequence, and what is derived from them.
# Ids of steps, decisions and tasks are content: the same words about another step are progress.
PASSING = frozenset(
    {
        "checkpoint_id", "previous_checkpoint_id", "handoff_sequence", "attempt", "timestamp", "produced_at",
        "started_at", "completed_at", "idempotency_key", "consistency_hash", "context_fingerprint", "id",
        "lastSequence", "agent_id", "agent_instance_id", "call_id",
    }
)  # fmt: skip


def likeness(submission: Submission) -> str:
    """Digest of the payload without ids, times and sequence at the top two levels ("sha256:…")."""
    return digest({key: _inner(value) for key, value in submission.payload.items() if key not in PASSING})


def _inner(value: JSONValue) -> JSONValue:
    if isinstance(value, dict):
        return _without(value)
    if isinstance(value, list):
        return [_without(item) if isinstance(item, dict) else item for item in value]
    return value


def _without(value: JSONObject) -> JSONObject:
    return {key: item for key, item in value.items() if key not in PASSING}
