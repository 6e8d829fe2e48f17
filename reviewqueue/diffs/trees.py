"""The tree of differences between two JSON values. Equal stretches are one node, however long they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from checkpoints.types import JSONObject, JSONValue
from reviewqueue.diffs.matching import Matcher, in_order
from reviewqueue.diffs.signing import Signatures

type Place = str | int | None


@dataclass(slots=True)
class Difference:
    """One value, or one stretch of equal ones.

    `kind` is same (`count` members from `old_place` on), inside (a container of which `children` say what
    differs), changed, added or removed. A place is a member's name or a list index in its own document. `moved`:
    the member stands elsewhere among the others of its list; it can be same or inside at once.
    """

    kind: str
    old_place: Place = None
    new_place: Place = None
    old: JSONValue = None
    new: JSONValue = None
    moved: bool = False
    count: int = 1
    children: list[Difference] = field(default_factory=list)


def compare(before: JSONValue, after: JSONValue) -> Difference:
    """Both documents are only read and must not change while the tree is in use."""
    return _Comparison().value(before, after, None, None)


class _Comparison:
    def __init__(self) -> None:
        self.signs = Signatures()
        self.matcher = Matcher()

    def value(self, old: JSONValue, new: JSONValue, old_place: Place, new_place: Place) -> Difference:
        if self.signs.of(old) == self.signs.of(new):
            return Difference("same", old_place, new_place, old, new)
        if isinstance(old, dict) and isinstance(new, dict):
            children = _joined(self._members(old, new))
        elif isinstance(old, list) and isinstance(new, list):
            children = _joined(self._items(old, new))
        else:
            return Difference("changed", old_place, new_place, old, new)
        return Difference("inside", old_place, new_place, old, new, children=children)

    def _members(self, old: JSONObject, new: JSONObject) -> Iterator[Difference]:
        for name, value in old.items():
            if name in new:
                yield self.value(value, new[name], name, name)
            else:
                yield Difference("removed", name, None, value)
        for name, value in new.items():
            if name not in old:
                yield Difference("added", None, name, None, value)

    def _items(self, old: list[JSONValue], new: list[JSONValue]) -> Iterator[Difference]:
        """In the new order; what was removed stands where it stood."""
        old_signs, new_signs = [self.signs.of(item) for item in old], [self.signs.of(item) for item in new]
        pairs = self.matcher.pairs(old, new, old_signs, new_signs)
        steady, partner = in_order(pairs), {j: i for i, j in pairs}
        removed = sorted({*range(len(old))} - {i for i, _ in pairs}, reverse=True)
        after = iter(
            [*(i for i, _ in steady[1:]), len(old)]
        )  # the old end of each gap between steady members
        gap_end = steady[0][0] if steady else len(old)
        stays = set(steady)
        for j in range(len(new) + 1):
            while removed and removed[-1] < gap_end:
                place = removed.pop()
                yield Difference("removed", place, None, old[place])
            if j == len(new):
                break
            yield self._item(old, new, partner.get(j), j, stays)
            if (partner.get(j, -1), j) in stays:
                gap_end = next(after)

    def _item(
        self, old: list[JSONValue], new: list[JSONValue], i: int | None, j: int, stays: set[tuple[int, int]]
    ) -> Difference:
        if i is None:
            return Difference("added", None, j, None, new[j])
        found = self.value(old[i], new[j], i, j)
        found.moved = (i, j) not in stays
        return found


def _joined(found: Iterator[Difference]) -> list[Difference]:
    """Neighbours that are the same, in both documents, become one node."""
    joined: list[Difference] = []
    for item in found:
        last = joined[-1] if joined else None
        if last and last.kind == item.kind == "same" and _continues(last, item):
            last.count += 1
        else:
            joined.append(item)
    return joined


def _continues(last: Difference, item: Difference) -> bool:
    if last.moved or item.moved:
        return False
    # Between two members of a list that stand side by side now, another may have been moved away.
    return not isinstance(item.old_place, int) or item.old_place == _end(last)


def _end(run: Difference) -> int:
    return run.old_place + run.count if isinstance(run.old_place, int) else -1
