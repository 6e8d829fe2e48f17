"""The leaves of a comparison as a list, for documents of which only what differs is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checkpoints.canonical.pointers import escape
from checkpoints.types import JSONValue
from reviewqueue.diffs.trees import Difference, compare


@dataclass(frozen=True, slots=True)
class Change:
    """`kind` is added, removed, changed or moved; the pointer is into the document that has the value."""

    pointer: str
    kind: str
    before: JSONValue = None
    after: JSONValue = None


def changes(before: JSONValue, after: JSONValue) -> list[Change]:
    """Every difference, in the order of the documents. Equal documents: []."""
    return list(_leaves(compare(before, after), "", ""))


def _leaves(found: Difference, old_pointer: str, new_pointer: str) -> Iterator[Change]:
    if found.moved:
        yield Change(new_pointer, "moved", found.old, found.new)
    if found.kind == "inside":
        for child in found.children:
            yield from _leaves(child, _at(old_pointer, child.old_place), _at(new_pointer, child.new_place))
    elif found.kind != "same":
        yield Change(
            old_pointer if found.kind == "removed" else new_pointer, found.kind, found.old, found.new
        )


def _at(pointer: str, place: str | int | None) -> str:
    return f"{pointer}/{escape(str(place))}"
