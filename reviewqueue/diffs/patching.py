"""A tree of differences as RFC 6902 operations, in the order in which they apply."""

from __future__ import annotations

from checkpoints.canonical.pointers import escape
from checkpoints.types import JSONObject, JSONValue
from reviewqueue.diffs.trees import Difference

type Operation = JSONObject


def patch(difference: Difference) -> list[Operation]:
    """Applied to the old document, the operations give the new one. Equal documents: []."""
    return [*_operations(difference, "")]


def _operations(found: Difference, pointer: str) -> list[Operation]:
    if found.kind == "same":
        return []
    if found.kind != "inside":
        return [{"op": "replace", "path": pointer, "value": found.new}]
    if isinstance(found.old, list):
        return [*_reorder(found, pointer), *_within(found, pointer)]
    operations: list[Operation] = []
    for child in found.children:
        if child.kind == "removed":
            operations.append({"op": "remove", "path": _at(pointer, child.old_place)})
        elif child.kind == "added":
            operations.append({"op": "add", "path": _at(pointer, child.new_place), "value": child.new})
        else:
            operations += _operations(child, _at(pointer, child.new_place))
    return operations


def _reorder(found: Difference, pointer: str) -> list[Operation]:
    """Removals from the end, then moves from the end, then additions from the front: each index holds when it runs."""
    removed = sorted(
        (_index(child.old_place) for child in found.children if child.kind == "removed"), reverse=True
    )
    operations: list[Operation] = [{"op": "remove", "path": _at(pointer, place)} for place in removed]
    if any(child.moved for child in found.children):
        operations += _moves(found, pointer, set(removed))
    operations += [
        {"op": "add", "path": _at(pointer, child.new_place), "value": child.new}
        for child in found.children
        if child.kind == "added"
    ]
    return operations


def _moves(found: Difference, pointer: str, removed: set[int]) -> list[Operation]:
    """Each moved member goes to right before the one that follows it in the new order."""
    old: list[JSONValue] = found.old if isinstance(found.old, list) else []
    standing = [place for place in range(len(old)) if place not in removed]
    operations: list[Operation] = []
    at = len(standing)  # where the member that was placed last stands
    for child in reversed(found.children):
        if child.kind in ("added", "removed"):
            continue
        for place in range(_index(child.old_place) + child.count - 1, _index(child.old_place) - 1, -1):
            source = standing.index(place) if child.moved else _before(standing, at, place)
            if not child.moved:
                at = source
                continue
            standing.pop(source)
            at -= source < at
            standing.insert(at, place)
            if source != at:
                operations.append({"op": "move", "from": _at(pointer, source), "path": _at(pointer, at)})
    return operations


def _before(standing: list[int], at: int, place: int) -> int:
    """Where `place` stands, looked for from `at` to the front."""
    while standing[at := at - 1] != place:
        pass
    return at


def _within(found: Difference, pointer: str) -> list[Operation]:
    """What differs inside members, which stand at their new places by now."""
    operations: list[Operation] = []
    for child in found.children:
        if child.kind in ("inside", "changed"):
            operations += _operations(child, _at(pointer, child.new_place))
    return operations


def _at(pointer: str, place: str | int | None) -> str:
    return f"{pointer}/{escape(str(place))}"


def _index(place: str | int | None) -> int:
    return place if isinstance(place, int) else 0
