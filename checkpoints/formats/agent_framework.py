"""`agent-framework/1`: a WorkflowCheckpoint of Microsoft's Agent Framework.

Application values are pickled inside it. Only their type names are read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoints.formats.form import Format
from checkpoints.formats.outer import with_envelope
from checkpoints.formats.questions import asked
from checkpoints.formats.reading import instant, mapping, mappings, strings, text
from checkpoints.types import Facts, JSONObject, PendingDecision

_INTERNAL: Final = "internal:"


def read(payload: JSONObject, envelope: JSONObject) -> Facts:
    """Facts of a WorkflowCheckpoint: messages in flight name executors, pending requests wait for somebody."""
    waiting = tuple(_requests(payload))
    sender, target = _route(payload)
    events = mapping(payload, "pending_request_info_events").values()
    sender = sender or next(iter(strings(_source(event) for event in events)), None)
    state = mapping(payload, "state")
    facts = Facts(
        source_id=text(payload, "checkpoint_id"),
        agent_id=sender,
        agent_role=sender,
        target_role=target,
        task_status=_status(payload, waiting),
        user_intent=text(state, "user_intent"),
        produced_at=instant(payload.get("timestamp")),
        pending_decisions=waiting,
        waits_for_person=bool(waiting),
    )
    return with_envelope(facts, payload, envelope)


def _route(payload: JSONObject) -> tuple[str | None, str | None]:
    """(source, target) of the first message in flight. What starts an executor is addressed `internal:<executor>`."""
    messages = mapping(payload, "messages")
    for source in messages:
        if source.startswith(_INTERNAL):
            return None, source.removeprefix(_INTERNAL) or None
        target = next(
            iter(strings(message.get("target_id") for _, message in mappings(messages, source))), None
        )
        return source, target
    return None, None


def _source(event: object) -> str | None:
    return text(event, "source_executor_id") if isinstance(event, dict) else None


def _status(payload: JSONObject, waiting: tuple[PendingDecision, ...]) -> str:
    if waiting:
        return "awaiting_approval"
    return "in_progress" if mapping(payload, "messages") else "completed"


def _requests(payload: JSONObject) -> Iterator[PendingDecision]:
    for request_id, event in mapping(payload, "pending_request_info_events").items():
        pointer = "/pending_request_info_events/" + request_id.replace("~", "~0").replace("/", "~1")
        if isinstance(event, dict) and "__pickled__" in event:
            kind = text(event, "__type__") or "an unnamed type"
            question = (
                f"The workflow waits for an answer to request {request_id}. "
                f"Its content is a pickled {kind}, which is not opened here."
            )
            yield asked(request_id, question, pointer)
        else:
            data = event.get("data", event) if isinstance(event, dict) else event
            yield asked(request_id, data, pointer)


FORMAT: Final = Format(
    name="agent-framework/1",
    title="Agent Framework workflow checkpoint",
    read=read,
    members=(
        "workflow_name",
        "graph_signature_hash",
        "checkpoint_id",
        "previous_checkpoint_id",
        "timestamp",
        "messages",
        "state",
        "pending_request_info_events",
        "iteration_count",
        "metadata",
        "version",
    ),
    approve_means=(
        "The orchestrator runs the workflow from this checkpoint with responses={request id: answer}."
    ),
    protected=(
        "/workflow_name",
        "/graph_signature_hash",
        "/checkpoint_id",
        "/previous_checkpoint_id",
        "/timestamp",
        "/messages",
        "/version",
    ),
)
