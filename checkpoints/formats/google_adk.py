"""`google-adk/1`: a Session of Google's Agent Development Kit, in its camelCase or its snake_case JSON."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

from checkpoints.formats.form import Format
from checkpoints.formats.outer import with_envelope
from checkpoints.formats.questions import asked, call_decision, spoken
from checkpoints.formats.reading import fold, mapping, mappings, sequence, strings, text
from checkpoints.types import Facts, JSONObject, JSONValue, PendingDecision

_CONFIRMATION: Final = "adk_request_confirmation"
_UNFINISHED: Final = ("pending", "in_progress", "waiting", "running", "submitted", "started")
_TRANSFER: Final = "transfer_to_agent"


class _Part(NamedTuple):
    """A function call or response, with the event it stands in."""

    event: JSONObject
    body: JSONObject
    pointer: str

    @property
    def call_id(self) -> str:
        return text(self.body, "id") or ""

    @property
    def name(self) -> str:
        return text(self.body, "name") or ""


def read(payload: JSONObject, envelope: JSONObject) -> Facts:
    """Facts of a session: the last speaker sends, unless the last transfer went to it."""
    events = [event for _, event in mappings(payload, "events")]
    calls = list(_parts(payload, "functionCall", "function_call"))
    responses = list(_parts(payload, "functionResponse", "function_response"))
    source, target = _last_transfer(events)
    speaker = next((found for event in reversed(events) if (found := _agent(event))), None)
    sender = source if source and speaker == target else speaker
    waiting = tuple(_unanswered(calls, responses))
    open_ids = {decision.decision_id for decision in waiting}
    answered = strings(part.call_id for part in responses if part.call_id not in open_ids)
    tools = [part for part in calls if part.name not in (_TRANSFER, _CONFIRMATION)]
    facts = Facts(
        source_id=text(events[-1], "id") if events else None,
        agent_id=sender,
        agent_role=sender,
        target_role=target,
        task_status="awaiting_approval" if waiting else "in_progress",
        user_intent=_last_user_text(events),
        produced_at=_epoch(_either(payload, "lastUpdateTime", "last_update_time")),
        completed_step_ids=answered,
        call_ids=answered,
        tool_names=strings(
            part.name for part in sorted(tools, key=lambda part: part.call_id not in open_ids)
        ),
        pending_decisions=waiting,
        waits_for_person=bool(waiting),
        already_committed=answered,
    )
    return with_envelope(facts, payload, envelope)


def _either(holder: JSONObject, camel: str, snake: str) -> JSONValue:
    return holder.get(camel, holder.get(snake))


def _agent(event: JSONObject) -> str | None:
    author = text(event, "author")
    return author if author != "user" else None


def _parts(payload: JSONObject, camel: str, snake: str) -> Iterator[_Part]:
    for event_index, event in mappings(payload, "events"):
        for index, part in mappings(mapping(event, "content"), "parts"):
            name = camel if camel in part else snake
            body = mapping(part, name)
            if body:
                yield _Part(event, body, f"/events/{event_index}/content/parts/{index}/{name}")


def _last_transfer(events: list[JSONObject]) -> tuple[str | None, str | None]:
    for event in reversed(events):
        target = _either(mapping(event, "actions"), "transferToAgent", "transfer_to_agent")
        if isinstance(target, str) and target:
            return _agent(event), target
    return None, None


def _unanswered(calls: list[_Part], responses: list[_Part]) -> Iterator[PendingDecision]:
    """Long-running calls without a final answer. The agent's own response is only the tool's receipt."""
    final = {
        part.call_id for part in responses if part.event.get("author") == "user" and not _is_interim(part)
    }
    for part in calls:
        long_running = _either(part.event, "longRunningToolIds", "long_running_tool_ids")
        if not isinstance(long_running, list) or part.call_id not in long_running or part.call_id in final:
            continue
        arguments = part.body.get("args")
        if part.name == _CONFIRMATION:
            yield _confirmation(part)
        else:
            yield call_decision(part.call_id, part.name, arguments, part.pointer)


def _confirmation(part: _Part) -> PendingDecision:
    arguments = mapping(part.body, "args")
    original = _either(arguments, "originalFunctionCall", "original_function_call")
    wanted = original if isinstance(original, dict) else {}
    asking = _either(arguments, "toolConfirmation", "tool_confirmation")
    if hint := text(asking, "hint"):
        return asked(part.call_id, {"question": hint, "options": ["approve", "reject"]}, part.pointer)
    return call_decision(part.call_id, text(wanted, "name") or "a tool", wanted.get("args"), part.pointer)


def _is_interim(part: _Part) -> bool:
    status = text(mapping(part.body, "response"), "status")
    return status is not None and fold(status) in _UNFINISHED


def _last_user_text(events: list[JSONObject]) -> str | None:
    for event in reversed(events):
        if event.get("author") == "user":
            found = spoken(sequence(mapping(event, "content"), "parts"))
            if found:
                return found
    return None


def _epoch(seconds: JSONValue) -> datetime | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


FORMAT: Final = Format(
    name="google-adk/1",
    title="Google ADK session",
    read=read,
    members=(
        "id",
        "appName",
        "app_name",
        "userId",
        "user_id",
        "state",
        "events",
        "lastUpdateTime",
        "last_update_time",
    ),
    approve_means="The orchestrator sends a FunctionResponse with the same id to the session.",
    protected=("/id", "/appName", "/app_name", "/userId", "/user_id", "/lastUpdateTime", "/last_update_time"),
)
