"""The conversation: its stable prefix, its tool messages, embedded media. EC-09, EC-10, EC-25, EC-48, EC-49, EC-53."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from checkpoints.checks.engine_reading import (
    counter,
    message_holders,
    message_list,
    objects,
    pending_requests,
    retained_snapshot,
    tool_messages,
)
from checkpoints.checks.shape import place as named
from checkpoints.checks.shape import shown
from checkpoints.types import CheckContext, Hit, JSONObject, JSONValue, Severity, Submission

_DATA_URL: Final = re.compile(r"data:[^\s,]{0,200},", re.IGNORECASE)
_DATA_URL_IN_TEXT: Final = re.compile(
    r"data:[\w.+-]+/[\w.+;=-]{1,200};base64,[A-Za-z0-9+/_-]{256}", re.IGNORECASE
)
_BARE_BASE64: Final = re.compile(r"[A-Za-z0-9+/_\r\n-]{256,}+={0,2}")
_KINDS_WITH_SOURCE: Final = ("image", "file", "audio")


def stable_prefix_lies_within(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-09 for the checkpoint, EC-25 for the retained snapshot."""
    yield from _prefix(submission.payload, "", "EC-09")
    snapshot = retained_snapshot(submission.payload)
    if snapshot is not None:
        yield from _prefix(snapshot, "/modelReconciliation/request/context", "EC-25")


def _prefix(holder: JSONObject, pointer: str, code: str) -> Iterator[Hit]:
    messages = message_list(holder)
    prefix = counter(holder, "stablePrefixMessages")
    if messages is not None and prefix is not None and prefix > len(messages):
        whose = "the snapshot holds" if pointer else "the checkpoint holds"
        yield Hit(
            code,
            f"{pointer}/stablePrefixMessages",
            f"stablePrefixMessages is {prefix} but {whose} {len(messages)} messages: the engine refuses to resume.",
            f"0 to {len(messages)}",
            prefix,
        )


def there_is_a_conversation(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-10, low before the first round is over."""
    if message_list(submission.payload) == []:
        iteration = counter(submission.payload, "iteration")
        yield Hit(
            "EC-10",
            "/messages",
            f"messages is empty at iteration {shown(iteration)}: the model would resume without a conversation.",
            "at least one message",
            [],
            Severity.LOW if iteration == 0 else None,
        )


def shown_results_are_not_pending(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-48: a tool message for a request that would run again."""
    pending = {request.id: request.place for request in pending_requests(submission.payload).items}
    for message in tool_messages(submission.payload).items:
        place = pending.get(message.call_id)
        if place is not None:
            yield Hit(
                "EC-48",
                message.pointer,
                f"The conversation shows a result of {shown(message.call_id)}, which still stands in {place}: the "
                "model has seen the effect, and resuming would run it again.",
                "no result before the tool has run",
                shown(message.call_id),
            )


def each_call_has_one_message(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-49."""
    first: dict[str, str] = {}
    for message in tool_messages(submission.payload).items:
        earlier = first.setdefault(message.call_id, message.pointer)
        if earlier != message.pointer:
            yield Hit(
                "EC-49",
                message.pointer,
                f"Tool call {shown(message.call_id)} has two tool messages, {_message(earlier)} and "
                f"{_message(message.pointer)}: the effect ran twice or the batch was replayed.",
                "one tool message for each call",
                shown(message.call_id),
            )


def _message(pointer: str) -> str:
    return named(pointer).removesuffix("/metadata/tool_call_id")


def media_are_referenced(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-53, for each part that carries its bytes instead of naming them."""
    for holder, pointer in message_holders(submission.payload):
        base = pointer.rpartition("/")[0]
        for place, message in objects(holder, pointer.rpartition("/")[2]).items:
            for part_place, part in objects(message, "parts").items:
                member = _embedding_member(part)
                if member is not None:
                    value = str(part[member])
                    at = f"{base}/{place}/{part_place}/{member}"
                    yield Hit(
                        "EC-53",
                        at,
                        f"{named(at)} embeds media of {len(value)} characters: store the file and keep a reference, "
                        "else every later checkpoint carries it again.",
                        "a reference",
                        f"{value[:40]}…" if len(value) > 40 else value,
                    )


def _embedding_member(part: JSONObject) -> str | None:
    """The member that holds embedded bytes: `source` of media, `value` of a text with a long data URL inside."""
    if part.get("kind") in _KINDS_WITH_SOURCE:
        return "source" if _is_embedded(part.get("source")) else None
    value = part.get("value")
    if isinstance(value, str) and _has_data_url(value):
        return "value"
    return None


def _is_embedded(source: JSONValue) -> bool:
    if not isinstance(source, str):
        return False
    if _DATA_URL.match(source.lstrip()):
        return True
    return "://" not in source[:64] and _BARE_BASE64.fullmatch(source.strip()) is not None


def _has_data_url(value: str) -> bool:
    return ";base64," in value and _DATA_URL_IN_TEXT.search(value) is not None


CHECKS = (
    stable_prefix_lies_within,
    there_is_a_conversation,
    shown_results_are_not_pending,
    each_call_has_one_message,
    media_are_referenced,
)
