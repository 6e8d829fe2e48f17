"""What both engine families read of an EngineCheckpoint, and the words they show values in.

Reading is total: what cannot be read is None or left out, and `Listed.whole` says whether something was left
out, so that no check concludes from a gap that the broken shape made (EC-01 names it already).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import orjson

from checkpoints.checks.shape import shown
from checkpoints.formats.engine import MEMBERS
from checkpoints.types import JSONObject, JSONValue, Submission

INT32_MAX: Final = 2**31 - 1
INT64_MAX: Final = 2**63 - 1
RUN_NAMED_BY_ENGINE: Final = re.compile(r"run-\d+", re.ASCII)
ID_NAMED_BY_ENGINE: Final = re.compile(r"checkpoint-\d+", re.ASCII)
_INTEGER_TEXT: Final = re.compile(r"-?\d{1,40}", re.ASCII)
LONG: Final = 1000
_REMEMBERED: Final = 4


class Listed[Item](NamedTuple):
    """The readable elements of a list; `whole` when none was left out."""

    items: tuple[Item, ...]
    whole: bool


class ToolRequest(NamedTuple):
    """A ModelToolRequest with a usable id. `place` is its pointer without the leading slash."""

    place: str
    id: str
    name: str | None
    arguments: JSONValue


class ToolResult(NamedTuple):
    """A ModelToolResult with a usable requestId; `outcome` is None when it is no word of the schema."""

    place: str
    id: str
    name: str | None
    outcome: str | None
    item: JSONObject


class ToolMessage(NamedTuple):
    """A message that shows a tool's result: as the engine finds it, by `metadata.tool_call_id`."""

    pointer: str
    call_id: str


def outer(submission: Submission) -> JSONObject:
    """Where the envelope's members stand: the envelope, or the flat document itself."""
    return submission.envelope if submission.form == "envelope" else submission.payload


def own_members(payload: JSONObject) -> JSONObject:
    """The EngineCheckpoint without the envelope's members that a flat document has beside its own."""
    return {name: payload[name] for name in MEMBERS if name in payload}


def whole_number(value: JSONValue) -> int | None:
    """An int64 in either of its two spellings, number or text of digits; else None."""
    if type(value) is int:
        return value
    return int(value) if is_integer_text(value) and isinstance(value, str) else None


def is_integer_text(value: JSONValue) -> bool:
    return isinstance(value, str) and _INTEGER_TEXT.fullmatch(value) is not None


def counter(payload: JSONObject, name: str) -> int | None:
    """A member that is a JSON integer and not negative; else None."""
    value = payload.get(name)
    return value if type(value) is int and value >= 0 else None


def flag(payload: JSONObject, name: str) -> bool | None:
    value = payload.get(name)
    return value if isinstance(value, bool) else None


def is_blank(value: JSONValue) -> bool:
    """Absent, null, or a text without a visible character."""
    return value is None or (isinstance(value, str) and not value.strip())


def objects(holder: JSONObject, name: str) -> Listed[tuple[str, JSONObject]]:
    """(place, element) of a list of objects. Absent and null read as an empty list, as every loader does."""
    value = holder.get(name)
    if value is None:
        return Listed((), whole=True)
    if not isinstance(value, list):
        return Listed((), whole=False)
    items = tuple((f"{name}/{index}", item) for index, item in enumerate(value) if isinstance(item, dict))
    return Listed(items, whole=len(items) == len(value))


def _read_once[Found](read: Callable[[JSONObject], Found]) -> Callable[[JSONObject], Found]:
    """Remembers what the last few payloads read as: a dozen checks ask the same of one document in a row."""
    recent: tuple[tuple[JSONObject, Found], ...] = ()

    def remembered(payload: JSONObject) -> Found:
        nonlocal recent
        for known, found in recent:
            if known is payload:
                return found
        made = read(payload)
        # One assignment of an immutable tuple: another thread sees the old or the new one, both true.
        recent = ((payload, made), *recent[: _REMEMBERED - 1])
        return made

    return remembered


def _requests(holder: JSONObject, name: str, owner: str = "") -> Listed[ToolRequest]:
    listed = objects(holder, name)
    items = tuple(
        ToolRequest(owner + place, own_id, _text(item.get("name")), item.get("arguments"))
        for place, item in listed.items
        if isinstance(own_id := item.get("id"), str)
    )
    return Listed(items, whole=listed.whole and len(items) == len(listed.items))


@_read_once
def pending_requests(payload: JSONObject) -> Listed[ToolRequest]:
    return _requests(payload, "pendingToolRequests")


@_read_once
def tool_results(payload: JSONObject) -> Listed[ToolResult]:
    listed = objects(payload, "completedToolResults")
    items = tuple(
        ToolResult(place, request_id, _text(item.get("name")), _outcome(item.get("outcome")), item)
        for place, item in listed.items
        if isinstance(request_id := item.get("requestId"), str)
    )
    return Listed(items, whole=listed.whole and len(items) == len(listed.items))


def retained_response(payload: JSONObject) -> JSONObject | None:
    """`pendingModelResponse` when it is there and an object."""
    value = payload.get("pendingModelResponse")
    return value if isinstance(value, dict) else None


@_read_once
def retained_requests(payload: JSONObject) -> Listed[ToolRequest]:
    """What the model asked in the retained response; nothing where none is retained."""
    response = payload.get("pendingModelResponse")
    if response is None:
        return Listed((), whole=True)
    if not isinstance(response, dict):
        return Listed((), whole=False)
    return _requests(response, "toolRequests", "pendingModelResponse/")


def message_list(holder: JSONObject) -> list[JSONValue] | None:
    value = holder.get("messages")
    return value if isinstance(value, list) else None


@_read_once
def tool_messages(payload: JSONObject) -> Listed[ToolMessage]:
    listed = objects(payload, "messages")
    found = []
    for place, message in listed.items:
        metadata = message.get("metadata")
        call_id = metadata.get("tool_call_id") if isinstance(metadata, dict) else None
        if isinstance(call_id, str) and call_id:
            found.append(ToolMessage(f"/{place}/metadata/tool_call_id", call_id))
    return Listed(tuple(found), whole=listed.whole)


def message_holders(payload: JSONObject) -> Iterator[tuple[JSONObject, str]]:
    """(owner, pointer) of each list of messages in the document."""
    yield payload, "/messages"
    snapshot = retained_snapshot(payload)
    if snapshot is not None:
        yield snapshot, "/modelReconciliation/request/context/messages"
    response = payload.get("pendingModelResponse")
    if isinstance(response, dict):
        yield response, "/pendingModelResponse/assistantMessages"


def retained_snapshot(payload: JSONObject) -> JSONObject | None:
    """`modelReconciliation.request.context` when it can be read."""
    value: JSONValue = payload
    for name in ("modelReconciliation", "request", "context"):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def brief(value: JSONValue) -> JSONValue:
    """`expected` or `actual` of a finding: the value itself, or its beginning where it is long."""
    if isinstance(value, str | dict | list) and len(orjson.dumps(value)) > LONG:
        return shown(value)
    return value


def enumerated(values: Iterable[str], limit: int = 5) -> str:
    """`a, b and 3 more`: names in a sentence."""
    names = [shown(value) for value in values]
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def first_names(values: Iterable[str], limit: int = 20) -> list[JSONValue]:
    """`expected` or `actual` as a list of ids, cut where a person stops reading."""
    names: list[JSONValue] = [shown(value) for value in values]
    return names if len(names) <= limit else [*names[:limit], f"… {len(names) - limit} more"]


def _text(value: JSONValue) -> str | None:
    return value if isinstance(value, str) else None


def _outcome(value: JSONValue) -> str | None:
    return value if isinstance(value, str) and value in ("success", "failed", "indeterminate") else None
