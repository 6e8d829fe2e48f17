"""`prompty.session/1`: the session-level Checkpoint of Prompty. All of its members but `title` are optional."""

from __future__ import annotations

from typing import Final

from checkpoints.formats.form import Format
from checkpoints.formats.outer import with_envelope
from checkpoints.formats.reading import instant, mapping, mappings, strings, text
from checkpoints.types import Facts, JSONObject

MEMBERS: Final = (
    "id",
    "sessionId",
    "turnId",
    "checkpointNumber",
    "title",
    "overview",
    "state",
    "summary",
    "metadata",
    "createdAt",
    "redaction",
)


def read(payload: JSONObject, envelope: JSONObject) -> Facts:
    """Facts of a session checkpoint; `state` is free, and the names most hosts give it are looked for there."""
    state = mapping(payload, "state")
    handoff = mapping(state, "handoff")
    requests = [request for _, request in mappings(state, "toolRequests")]
    facts = Facts(
        source_id=text(payload, "id"),
        agent_role=text(state, "active_agent") or text(state, "activeAgent"),
        target_role=text(handoff, "to") or text(handoff, "target_role"),
        task_status="completed" if state.get("output") is not None else "in_progress",
        turn_id=text(payload, "turnId"),
        handoff_reason=text(handoff, "reason"),
        user_intent=text(payload, "title"),
        produced_at=instant(payload.get("createdAt")),
        tool_names=strings(request.get("toolName") or request.get("name") for request in requests),
    )
    return with_envelope(facts, payload, envelope)


FORMAT: Final = Format(
    name="prompty.session/1",
    title="Prompty session checkpoint",
    read=read,
    members=MEMBERS,
    approve_means="The host may resume or hand over the session from this checkpoint.",
    protected=(
        "/id",
        "/sessionId",
        "/turnId",
        "/checkpointNumber",
        "/createdAt",
        "/session_id",
        "/checkpoint_id",
        "/handoff_sequence",
        "/idempotency_key",
    ),
    session_member="sessionId",
)
