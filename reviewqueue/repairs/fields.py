"""The members that people repair most, as fields of a form: read from a `handoff/1` payload and written back."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

from checkpoints.types import JSONObject, JSONValue


class Crossed(ValueError):
    """A field was changed, and so was its member in the text, to something else. `args[0]` is the field's name."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field's value stands in this payload: (holder or "", member)."""

    holder: str
    member: str


def places(payload: JSONObject) -> dict[str, Place]:
    """The fields that this payload offers: those whose member it has, in a form that a field can hold."""
    found: dict[str, Place] = {}
    target = payload.get("handoff_target")
    if isinstance(target, dict) and isinstance(target.get("target_role"), str):
        found["target_role"] = Place("handoff_target", "target_role")
    for member in ("task_status", "task_state"):
        if isinstance(payload.get(member), str):
            found.setdefault("status", Place("", member))
    constraints = payload.get("active_constraints")
    if isinstance(constraints, list) and all(
        isinstance(item, str) and "\n" not in item and item.strip() == item and item for item in constraints
    ):
        found["constraints"] = Place("", "active_constraints")
    return found


def read(payload: JSONObject) -> dict[str, str]:
    """The text of each field; constraints one a line."""
    return {name: _text(_holder(payload, place).get(place.member)) for name, place in places(payload).items()}


def merged(payload: JSONObject, given: Mapping[str, str], was: Mapping[str, str]) -> JSONObject:
    """The payload with the fields that were changed in the form. Raises Crossed where the text changed one too."""
    standing, offered = read(payload), places(payload)
    copy = deepcopy(payload)
    for name, place in offered.items():
        wanted, before = _lines(given.get(name, "")), _lines(was.get(name, ""))
        if name not in given or wanted == before or wanted == standing[name]:
            continue
        if standing[name] != before:
            raise Crossed(name)
        lines: list[JSONValue] = [line for line in wanted.split("\n") if line]
        _holder(copy, place)[place.member] = lines if name == "constraints" else wanted
    return copy


def _holder(payload: JSONObject, place: Place) -> JSONObject:
    holder = payload.get(place.holder) if place.holder else payload
    if not isinstance(holder, dict):
        raise TypeError(place.holder)
    return holder


def _text(value: JSONValue) -> str:
    return "\n".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _lines(text: str) -> str:
    """Text as a form sends it: other line ends, blank lines and blanks at the ends of lines mean nothing."""
    return "\n".join(line.strip() for line in text.replace("\r\n", "\n").split("\n") if line.strip())
