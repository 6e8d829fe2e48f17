"""What is different between two JSON documents, member by member."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

import orjson

from checkpoints.types import JSONObject, JSONValue

LONGEST_LIST: Final = 1000  # difflib takes the square of it


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `kind` is added, removed or changed; the pointer is into the document that has the value."""

    pointer: str
    kind: str
    before: JSONValue = None
    after: JSONValue = None


def changes(before: JSONValue, after: JSONValue, pointer: str = "") -> list[Change]:
    """Every difference, in the order of the documents. Equal documents: []."""
    return list(_changes(before, after, pointer))


def _changes(before: JSONValue, after: JSONValue, pointer: str) -> Iterator[Change]:
    if _key(before) == _key(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _members(before, after, pointer)
    elif (
        isinstance(before, list) and isinstance(after, list) and max(len(before), len(after)) <= LONGEST_LIST
    ):
        yield from _items(before, after, pointer)
    else:
        yield Change(pointer, "changed", before, after)


def _members(before: JSONObject, after: JSONObject, pointer: str) -> Iterator[Change]:
    for name in [*before, *(name for name in after if name not in before)]:
        where = f"{pointer}/{_escaped(name)}"
        if name not in after:
            yield Change(where, "removed", before=before[name])
        elif name not in before:
            yield Change(where, "added", after=after[name])
        else:
            yield from _changes(before[name], after[name], where)


def _items(before: list[JSONValue], after: list[JSONValue], pointer: str) -> Iterator[Change]:
    """Items that stand in both are matched; of a stretch that was replaced, objects are compared in their turn."""
    matcher = SequenceMatcher(
        None, [_key(item) for item in before], [_key(item) for item in after], autojunk=False
    )
    for kind, low, high, new_low, new_high in matcher.get_opcodes():
        if kind == "equal":
            continue
        old, new = before[low:high], after[new_low:new_high]
        pairs = min(len(old), len(new))
        for place in range(pairs):
            yield from _changes(old[place], new[place], f"{pointer}/{new_low + place}")
        for place, item in enumerate(old[pairs:], start=low + pairs):
            yield Change(f"{pointer}/{place}", "removed", before=item)
        for place, item in enumerate(new[pairs:], start=new_low + pairs):
            yield Change(f"{pointer}/{place}", "added", after=item)


def _key(value: JSONValue) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
