"""Which member of a list became which: by its identity, by equal content, else by its place in a gap."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final

from checkpoints.types import JSONValue

IDENTITIES: Final = ("step_id", "decision_id", "call_id", "id", "requestId")
LIKE: Final = 0.6  # of two texts, for one to count as the other rewritten
LONGEST_LIKE: Final = 2000  # characters of a text that is compared for likeness

type Pairs = list[tuple[int, int]]


class Matcher:
    """Matches lists of one comparison. `effort` is what all of them together may spend on longest common runs."""

    def __init__(self, effort: int = 2_000_000) -> None:
        self.effort = effort

    def pairs(
        self, old: Sequence[JSONValue], new: Sequence[JSONValue], old_signs: list[int], new_signs: list[int]
    ) -> Pairs:
        """(old index, new index) by new index; every index at most once. Pairs need not be equal nor in order."""
        names, new_names = [identity(item) for item in old], [identity(item) for item in new]
        found = _by_occurrence(list(enumerate(names)), list(enumerate(new_names)), skip=None)
        left = _rest(old_signs, {i for i, _ in found}, names)
        right = _rest(new_signs, {j for _, j in found}, new_names)
        found += self._equal(left, right)
        found.sort(key=lambda pair: pair[1])
        used, new_used = {i for i, _ in found}, {j for _, j in found}
        gaps = _gaps(in_order(found), len(old), len(new))
        for low, high, new_low, new_high in gaps:
            one = [i for i in range(low, high) if i not in used and names[i] is None]
            two = [j for j in range(new_low, new_high) if j not in new_used and new_names[j] is None]
            found += [(i, j) for i, j in zip(one, two, strict=False) if _comparable(old[i], new[j])]
        return sorted(found, key=lambda pair: pair[1])

    def _equal(self, left: list[tuple[int, int]], right: list[tuple[int, int]]) -> Pairs:
        """Equal content: what stands in the same order first, then what was moved."""
        head = 0
        while head < min(len(left), len(right)) and left[head][1] == right[head][1]:
            head += 1
        tail = 0
        while tail < min(len(left), len(right)) - head and left[-1 - tail][1] == right[-1 - tail][1]:
            tail += 1
        found = [(i, j) for (i, _), (j, _) in zip(left[:head], right[:head], strict=True)]
        if tail:
            found += [(i, j) for (i, _), (j, _) in zip(left[-tail:], right[-tail:], strict=True)]
        left, right = left[head : len(left) - tail], right[head : len(right) - tail]
        if left and right:
            common = self._common(left, right)
            used, new_used = {i for i, _ in common}, {j for _, j in common}
            found += common
            found += _by_occurrence(
                [(i, sign) for i, sign in left if i not in used],
                [(j, sign) for j, sign in right if j not in new_used],
            )
        return found

    def _common(self, left: list[tuple[int, int]], right: list[tuple[int, int]]) -> Pairs:
        """The runs that both have in one order; none where finding them would cost too much."""
        signs, new_signs = [sign for _, sign in left], [sign for _, sign in right]
        counts = Counter(new_signs)
        cost = sum(counts[sign] for sign in signs) * min(len(signs), len(new_signs))
        if cost > self.effort:
            return []
        self.effort -= cost
        blocks = SequenceMatcher(None, signs, new_signs, autojunk=False).get_matching_blocks()
        return [
            (left[block.a + place][0], right[block.b + place][0])
            for block in blocks
            for place in range(block.size)
        ]


def identity(item: JSONValue) -> Hashable | None:
    """What names a member: the first of IDENTITIES that it has as a text or a number."""
    if not isinstance(item, dict):
        return None
    for name in IDENTITIES:
        value = item.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return name, value
    return None


def in_order(pairs: Pairs) -> Pairs:
    """The longest part of `pairs` (sorted by new index) whose old indexes grow too: what was not moved."""
    tails: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, (i, _) in enumerate(pairs):
        at = bisect_left(tails, i)
        before.append(places[at - 1] if at else -1)
        if at == len(tails):
            tails.append(i)
            places.append(place)
        else:
            tails[at], places[at] = i, place
    found: Pairs = []
    place = places[-1] if places else -1
    while place >= 0:
        found.append(pairs[place])
        place = before[place]
    return found[::-1]


def _rest(signs: list[int], used: set[int], names: Sequence[Hashable | None]) -> list[tuple[int, int]]:
    return [(i, sign) for i, sign in enumerate(signs) if i not in used and names[i] is None]


def _by_occurrence(
    left: Sequence[tuple[int, Hashable]], right: Sequence[tuple[int, Hashable]], skip: object = ...
) -> Pairs:
    """The n-th of a kind on one side is the n-th of it on the other."""
    places: defaultdict[Hashable, list[int]] = defaultdict(list)
    for i, kind in reversed(left):
        if kind is not skip:
            places[kind].append(i)
    return [(places[kind].pop(), j) for j, kind in right if places.get(kind)]


def _gaps(anchors: Pairs, length: int, new_length: int) -> Iterator[tuple[int, int, int, int]]:
    low = new_low = 0
    for i, j in [*anchors, (length, new_length)]:
        if i > low and j > new_low:
            yield low, i, new_low, j
        low, new_low = i + 1, j + 1


def _comparable(one: JSONValue, other: JSONValue) -> bool:
    """Whether showing one as the other changed tells more than removed and added."""
    if isinstance(one, str) and isinstance(other, str):
        return (
            max(len(one), len(other)) <= LONGEST_LIKE
            and SequenceMatcher(None, one, other, autojunk=False).quick_ratio() >= LIKE
        )
    return type(one) is type(other)
