"""`openai-agents/1`: the RunState that the OpenAI Agents SDK writes with `to_json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoints.formats.form import Format
from checkpoints.formats.outer import with_envelope
from checkpoints.formats.questions import call_decision, spoken
from checkpoints.formats.reading import mapping, mappings, strings, text
from checkpoints.types import Facts, JSONObject, JSONValue, PendingDecision


def read(payload: JSONObject, envelope: JSONObject) -> Facts:
    """Facts of a RunState. After a handoff inside the run, sender and target are those of that handoff."""
    items = [item for _, item in mappings(payload, "generated_items")]
    current = text(mapping(payload, "current_agent"), "name")
    source, target = _last_handoff(items)
    sender = source if source and current == target else current
    waiting = tuple(_approvals(payload))
    answered = _answered(payload, items)
    called = [item for item in items if item.get("type") == "tool_call_item"]
    facts = Facts(
        agent_id=sender,
        agent_role=sender,
        target_role=target,
        task_status=_status(payload, waiting),
        user_intent=_request(payload.get("original_input")),
        completed_step_ids=answered,
        call_ids=answered,
        tool_names=strings(
            _tool_name(item)
            for item in sorted(called, key=lambda item: mapping(item, "raw_item").get("call_id") in answered)
        ),
        pending_decisions=waiting,
        waits_for_person=bool(waiting),
        already_committed=answered,
    )
    return with_envelope(facts, payload, envelope)


def _last_handoff(items: list[JSONObject]) -> tuple[str | None, str | None]:
    for item in reversed(items):
        if item.get("type") == "handoff_output_item":
            return text(mapping(item, "source_agent"), "name"), text(mapping(item, "target_agent"), "name")
    return None, None


def _tool_name(item: JSONObject) -> str | None:
    return text(item, "tool_name") or text(mapping(item, "raw_item"), "name")


def _call_id(raw: JSONObject) -> str | None:
    return text(raw, "call_id") or text(raw, "id")


def _status(payload: JSONObject, waiting: tuple[PendingDecision, ...]) -> str:
    if waiting:
        return "awaiting_approval"
    step = mapping(payload, "current_step")
    finished = text(step, "type") == "next_step_final_output" or payload.get("final_output") is not None
    return "completed" if finished else "in_progress"


def _approvals(payload: JSONObject) -> Iterator[PendingDecision]:
    """Interruptions whose call the state itself does not say to be approved or rejected."""
    step = mapping(payload, "current_step")
    places = (
        (mapping(step, "data"), "/current_step/data/interruptions"),
        (step, "/current_step/interruptions"),
        (payload, "/interruptions"),
    )
    for holder, pointer in places:
        for index, item in mappings(holder, "interruptions"):
            raw = mapping(item, "raw_item")
            call_id, name = _call_id(raw) or "", _tool_name(item) or "a tool"
            if not _is_decided(payload, call_id, name):
                yield call_decision(call_id, name, raw.get("arguments"), f"{pointer}/{index}")


def _is_decided(payload: JSONObject, call_id: str, name: str) -> bool:
    context = mapping(payload, "context")
    records: list[JSONObject] = [mapping(mapping(context, "approvals"), name)]
    records.extend(
        mapping(record, "decision")
        for _, record in mappings(context, "function_tool_approvals")
        if record.get("tool_key") == name
    )
    return any(
        _names(record.get(verdict), call_id) for record in records for verdict in ("approved", "rejected")
    )


def _names(value: JSONValue, call_id: str) -> bool:
    """`true` stands for every call of the tool, a list for the calls it names."""
    return value is True or (isinstance(value, list) and call_id in value)


def _answered(payload: JSONObject, items: list[JSONObject]) -> tuple[str, ...]:
    """Calls that have an output, or that the context says to be completed."""
    outputs = [
        _call_id(mapping(item, "raw_item"))
        for item in items
        if item.get("type") in ("tool_call_output_item", "handoff_output_item")
    ]
    invocations = mapping(mapping(payload, "context"), "tool_invocations")
    completed = [
        call_id
        for call_id, invocation in invocations.items()
        if mapping({"i": invocation}, "i").get("completed") is True
    ]
    return strings((*outputs, *completed))


def _request(original: JSONValue) -> str | None:
    if isinstance(original, str):
        return original or None
    messages = [message for _, message in mappings({"input": original}, "input")]
    for message in reversed(messages):
        if message.get("role") == "user":
            return spoken(message.get("content"))
    return None


FORMAT: Final = Format(
    name="openai-agents/1",
    title="OpenAI Agents run state",
    read=read,
    members=(
        "$schemaVersion",
        "current_turn",
        "current_agent",
        "original_input",
        "context",
        "generated_items",
        "current_step",
    ),
    approve_means=(
        "The orchestrator calls state.approve(item) or state.reject(item) for each question and runs the state again."
    ),
    protected=("/$schemaVersion", "/current_agent", "/conversation_id", "/previous_response_id"),
)
