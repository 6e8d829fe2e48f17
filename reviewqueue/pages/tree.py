"""A JSON value as a flat list of lines that a template can print: every node with an id made of its pointer.

Flat, because a template that includes itself costs ten times as much on a large document.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from checkpoints.types import JSONValue

CHILDREN_SHOWN = 200  # of one list or object; the rest is one click away
NODES_SHOWN = 1500  # of one page
OPEN_UP_TO = 40  # a document this small is shown unfolded
TEXT_SHOWN = 400  # characters of a text before it is folded
TEXT_MOST = 20_000  # characters of a text that a page carries at all


@dataclass(slots=True)
class Line:
    """One line: `kind` is open, close, leaf or more."""

    kind: str
    key: str = ""
    anchor: str = ""
    pointer: str = ""
    bracket: str = ""
    count: int = 0
    is_open: bool = False
    type: str = ""
    text: str = ""
    rest: str = ""
    left_out: int = 0
    marks: Sequence[tuple[str, str]] = field(default_factory=tuple)  # (severity, title of the finding)
    start: int = 0  # for `more`: the first child that is not shown
    held: bool = False  # the agent's recommendation: folded, so that it does not stand before the findings


_RECOMMENDATION = re.compile(r"/pending_decisions/\d+/recommendation")


def is_recommendation(pointer: str) -> bool:
    return _RECOMMENDATION.fullmatch(pointer) is not None


def anchor(pointer: str) -> str:
    """The id of a pointer's node, fit for an address fragment."""
    return "at" + quote(pointer, safe="/~_-.:@+=")


def child(pointer: str, name: str | int) -> str:
    """The pointer of a member or element (RFC 6901)."""
    return f"{pointer}/{str(name).replace('~', '~0').replace('/', '~1')}"


def at(value: JSONValue, pointer: str) -> JSONValue:
    """The value a pointer leads to. Raises LookupError where it leads nowhere."""
    found = value
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            if not name.isdigit() or int(name) >= len(found):
                raise LookupError(pointer)
            found = found[int(name)]
        elif isinstance(found, dict) and name in found:
            found = found[name]
        else:
            raise LookupError(pointer)
    if pointer and not pointer.startswith("/"):
        raise LookupError(pointer)
    return found


def lines(
    value: JSONValue,
    *,
    root: str = "",
    marks: Mapping[str, Sequence[tuple[str, str]]] | None = None,
    start: int = 0,
) -> list[Line]:
    """The lines of `value`, which stands at the pointer `root`; findings' places are unfolded and never left out.

    `start` skips the first children of the root: the continuation of a long list.
    """
    return list(_Printer(marks or {}).print(value, root, "", start))


class _Printer:
    def __init__(self, marks: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        self.marks = marks
        self.wanted = {part for pointer in marks for part in _prefixes(pointer)}
        self.left = NODES_SHOWN

    def print(self, value: JSONValue, pointer: str, key: str, start: int = 0) -> Iterator[Line]:
        self.left -= 1
        if not isinstance(value, dict | list) or not value:
            yield self._leaf(value, pointer, key)
            return
        is_open = (
            pointer in self.wanted or key == "" or (len(value) <= 4 and self.left > NODES_SHOWN - OPEN_UP_TO)
        )
        yield Line(
            "open",
            key=key,
            anchor=anchor(pointer),
            pointer=pointer,
            bracket="{}" if isinstance(value, dict) else "[]",
            count=len(value),
            is_open=is_open,
            marks=self.marks.get(pointer, ()),
        )
        items: list[tuple[str | int, JSONValue]] = list(
            value.items() if isinstance(value, dict) else enumerate(value)
        )
        hidden = 0
        first_hidden = 0
        for position, (name, item) in enumerate(items):
            place = child(pointer, name)
            shown = position >= start and position < start + CHILDREN_SHOWN and self.left > 0
            if shown or place in self.wanted:
                yield from self.print(item, place, str(name))
            elif position >= start:
                first_hidden = first_hidden or position
                hidden += 1
        if hidden:
            yield Line("more", pointer=pointer, count=hidden, start=first_hidden)
        yield Line("close", bracket="{}" if isinstance(value, dict) else "[]")

    def _leaf(self, value: JSONValue, pointer: str, key: str) -> Line:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        whole = len(text)
        return Line(
            "leaf",
            key=key,
            anchor=anchor(pointer),
            pointer=pointer,
            type=_type(value),
            text=text[:TEXT_SHOWN],
            rest=text[TEXT_SHOWN:TEXT_MOST],
            left_out=max(0, whole - TEXT_MOST),
            marks=self.marks.get(pointer, ()),
            held=is_recommendation(pointer),
        )


def _type(value: JSONValue) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return {str: "string", type(None): "null"}.get(type(value), "empty")


def _prefixes(pointer: str) -> Iterator[str]:
    """The pointer itself and every container on the way to it."""
    parts = pointer.split("/")
    for length in range(1, len(parts) + 1):
        yield "/".join(parts[:length])
