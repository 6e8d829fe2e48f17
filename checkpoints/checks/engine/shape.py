"""Members that are missing, of a wrong type, out of range or no word of the schema: EC-01 to EC-05, EC-52, EC-55.

PyPI's loader enforces `contextState` alone and fills the rest, so nobody notices before the resume.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from checkpoints.checks.engine.fields import CHECKPOINT, Field
from checkpoints.checks.engine_reading import (
    INT32_MAX,
    INT64_MAX,
    brief,
    is_integer_text,
    message_holders,
    outer,
)
from checkpoints.checks.shape import escape, place, shown
from checkpoints.formats.engine import MEMBERS
from checkpoints.formats.vocabulary import ENVELOPE_MEMBERS
from checkpoints.types import CheckContext, Hit, JSONObject, JSONValue, Submission

_WORDS: Final = {
    "text": "a string",
    "flag": "true or false",
    "int32": "an integer of 32 bits",
    "int64": "an integer of 64 bits",
    "object": "an object",
    "list": "an array",
    "choice": "a string",
}
_TYPES: Final = {"text": str, "flag": bool, "int32": int, "object": dict, "list": list, "choice": str}
# Aliases by which the envelope's own members are read.
_ENVELOPE_NAMES: Final = frozenset(ENVELOPE_MEMBERS) | {"consistency_issues", "agent_instance_id"}


def members_have_their_shape(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-01, EC-03, EC-04, EC-05, member by member."""
    hits: list[Hit] = []
    _judge_members(submission.payload, CHECKPOINT, "", hits)
    return hits


def identities_are_not_empty(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-02: an empty id cannot be addressed or told from another."""
    for name in ("id", "sessionId", "turnId", "runId"):
        value = submission.payload.get(name)
        if isinstance(value, str) and not value.strip():
            yield Hit(
                "EC-02",
                f"/{name}",
                f"{name} is an empty text: this checkpoint cannot be addressed, and the engine refuses to resume it.",
                "a non-empty string",
                value,
            )


def members_are_known(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-55: what no loader keeps, in the document and in the envelope."""
    known = frozenset(MEMBERS)
    if submission.form == "envelope":
        yield from _unknown(outer(submission), _ENVELOPE_NAMES, "the envelope")
    else:
        known |= _ENVELOPE_NAMES
    yield from _unknown(submission.payload, known, "an EngineCheckpoint")


def _unknown(holder: JSONObject, known: frozenset[str], whose: str) -> Iterator[Hit]:
    for name, value in holder.items():
        if name not in known:
            yield Hit(
                "EC-55",
                f"/{escape(name)}",
                f"{shown(name)} is no member of {whose}: every loader drops it silently, and a saved copy has other "
                "bytes than this document.",
                None,
                brief(value),
            )


def messages_carry_metadata(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-52, once for each list of messages: a writer that leaves it out leaves it out everywhere."""
    for holder, pointer in message_holders(submission.payload):
        name = pointer.rpartition("/")[2]
        without = [
            index
            for index, message in enumerate(_list(holder, name))
            if isinstance(message, dict) and message.get("metadata") is None
        ]
        if without:
            count = (
                f"{len(without)} messages have"
                if len(without) > 1
                else f"The message {name}/{without[0]} has"
            )
            first = f", the first is {name}/{without[0]}" if len(without) > 1 else ""
            yield Hit(
                "EC-52",
                f"{pointer}/{without[0]}/metadata",
                f"{count} no metadata{first}: loaders add {{}}, so a saved copy has other bytes.",
                {},
                None,
            )


def _list(holder: JSONObject, name: str) -> list[JSONValue]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def _judge_members(holder: JSONObject, fields: Mapping[str, Field], pointer: str, hits: list[Hit]) -> None:
    for name, field in fields.items():
        value = holder.get(name)
        if type(value) is field.settled_by:
            continue
        if value is not None:
            _judge(value, field, pointer, name, hits)
        elif field.required:
            state = "is null" if name in holder else "is missing"
            at = f"{pointer}/{name}"
            hits.append(
                Hit(
                    "EC-01",
                    at,
                    f"{place(at)} {state}: it must be {_WORDS[field.kind]}. A loader would fill it in silently and "
                    "resume from a value that nobody wrote.",
                    _WORDS[field.kind],
                    None,
                )
            )


def _judge(value: JSONValue, field: Field, pointer: str, name: str, hits: list[Hit]) -> None:
    kind = field.kind
    if kind == "int64":
        _judge_int64(value, field, f"{pointer}/{name}", hits)
    elif type(value) is not _TYPES[kind]:
        hits.append(_wrong_type(value, field, f"{pointer}/{name}"))
    elif kind == "int32":
        _judge_range(int(value), field, INT32_MAX, f"{pointer}/{name}", hits)  # type: ignore[arg-type]
    elif kind == "choice":
        if value not in field.words:
            hits.append(_unknown_word(value, field, f"{pointer}/{name}"))
    elif field.members is not None:
        if isinstance(value, dict):
            _judge_members(value, field.members, f"{pointer}/{name}", hits)
        elif isinstance(value, list):
            _judge_elements(value, field, f"{pointer}/{name}", hits)


def _judge_elements(elements: list[JSONValue], field: Field, pointer: str, hits: list[Hit]) -> None:
    for index, element in enumerate(elements):
        at = f"{pointer}/{index}"
        if not isinstance(element, dict):
            hits.append(_wrong_type(element, Field("object"), at))
            continue
        _judge_members(element, field.members or {}, at, hits)
        chosen = element.get("kind") if field.kinds else None
        if field.kinds and isinstance(chosen, str) and chosen in field.kinds:
            _judge_members(element, field.kinds[chosen], at, hits)


def _judge_int64(value: JSONValue, field: Field, pointer: str, hits: list[Hit]) -> None:
    if type(value) is int:
        number = value
    elif isinstance(value, str) and is_integer_text(value):
        number = int(value)
        hits.append(
            Hit(
                "EC-04",
                pointer,
                f'{place(pointer)} is the text "{value}": Rust and Go would read it as 0 and number on from there. '
                f"Write the number {number}.",
                number,
                value,
            )
        )
    else:
        hits.append(_wrong_type(value, field, pointer))
        return
    _judge_range(number, field, INT64_MAX, pointer, hits)


def _judge_range(number: int, field: Field, most: int, pointer: str, hits: list[Hit]) -> None:
    least = -most - 1 if field.least is None else field.least
    if least <= number <= most:
        return
    reason = "a smaller one does not exist" if number < least else "a larger one wraps to a negative number"
    hits.append(
        Hit(
            "EC-03",
            pointer,
            f"{place(pointer)} is {number}: it counts from {least} to {most}, and {reason}.",
            f"an integer from {least} to {most}",
            number if abs(number) < 1 << 53 else str(number),
        )
    )


def _wrong_type(value: JSONValue, field: Field, pointer: str) -> Hit:
    return Hit(
        "EC-01",
        pointer,
        f"{place(pointer)} is {_named(value)}: it must be {_WORDS[field.kind]}.",
        _WORDS[field.kind],
        brief(value),
    )


def _unknown_word(value: JSONValue, field: Field, pointer: str) -> Hit:
    return Hit(
        "EC-05",
        pointer,
        f'{place(pointer)} is "{shown(value)}": the engine knows {", ".join(field.words)}.',
        list(field.words),
        brief(value),
    )


def _named(value: JSONValue) -> str:
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, str):
        return f'the text "{shown(value)}"'
    return shown(value)


CHECKS = (
    members_have_their_shape,
    identities_are_not_empty,
    members_are_known,
    messages_carry_metadata,
)
