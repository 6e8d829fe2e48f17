"""A comparison as rows that a template can print: a head for each place, the differences there, the rest folded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from checkpoints.types import JSONValue
from reviewqueue.diffs import Difference, Part, marked
from reviewqueue.diffs.matching import identity
from reviewqueue.pages.tree import anchor, child, is_recommendation
from reviewqueue.pages.words import cut

MOST_ROWS = 300  # differences on one page
MOST_FOLDED = 60  # unchanged members that a fold names
LONGEST = 4000  # characters of one value

# Names, order, times and hashes differ in every checkpoint; they are shown last and folded.
BOOKKEEPING = frozenset(
    {"checkpoint_id", "handoff_sequence", "timestamp", "consistency_hash", "context_fingerprint", "id", "lastSequence"}
)  # fmt: skip


@dataclass(slots=True)
class Row:
    """`kind` is head, same, added, removed, changed or moved. `place` is in the newer document where it is there."""

    kind: str
    label: str = ""
    pointer: str = ""
    anchor: str = ""
    moved: str = ""
    held: bool = False  # the agent's recommendation, which stays folded
    old: Sequence[Part] = ()
    new: Sequence[Part] = ()
    count: int = 0
    names: list[tuple[str, str]] = field(default_factory=list)  # (name, value) of what a fold holds


@dataclass(slots=True)
class Shown:
    """`rows` in reading order, `bookkeeping` apart; `changed` and `same` count values and members."""

    rows: list[Row]
    bookkeeping: list[Row]
    changed: int
    same: int
    left_out: int
    members: list[str]  # names at the top in which something differs, bookkeeping aside


def shown(difference: Difference) -> Shown:
    writer = _Writer()
    if difference.kind in ("same", "changed"):
        rows = [] if difference.kind == "same" else [writer.leaf(difference, "Document", "")]
        return Shown(rows, [], len(rows), 1 - len(rows), 0, [])
    books = [item for item in difference.children if _is_bookkeeping(item)]
    rest = [item for item in difference.children if not _is_bookkeeping(item)]
    rows = [*writer.container(rest, difference, (), "", "")]
    bookkeeping = [
        writer.leaf(item, str(item.new_place or item.old_place), f"/{item.new_place or item.old_place}")
        for item in books
    ]
    members = [cut(str(item.new_place or item.old_place), 60) for item in rest if item.kind != "same"]
    return Shown(rows, bookkeeping, writer.changed, writer.same, writer.left_out, members)


def _is_bookkeeping(item: Difference) -> bool:
    return item.kind != "same" and (item.new_place or item.old_place) in BOOKKEEPING


class _Writer:
    def __init__(self) -> None:
        self.changed = self.same = self.left_out = 0

    def container(
        self,
        children: Sequence[Difference],
        holder: Difference,
        way: tuple[str, ...],
        old_at: str,
        new_at: str,
    ) -> Iterator[Row]:
        """What differs right here first, then what is unchanged, then what stands deeper."""
        leaves: list[Difference] = []
        deeper: list[Difference] = []
        folds: list[Difference] = []
        for item in children:
            if item.kind == "inside":
                deeper.append(item)
            if item.kind != "inside" or item.moved:
                (leaves if item.kind != "same" or item.moved else folds).append(item)
        self.same += sum(item.count for item in folds)
        room = leaves[: max(0, MOST_ROWS - self.changed)]
        self.left_out += len(leaves) - len(room)
        if room:
            yield Row("head", label=" › ".join(way) or "Top level", pointer=new_at)
        for item in room:
            self.changed += 1
            newer = item.kind != "removed"
            place = child(new_at, item.new_place or 0) if newer else child(old_at, item.old_place or 0)
            yield self.leaf(item, _label(item), place)
        if folds and (room or not way):
            yield _fold(folds, holder)
        for item in deeper:
            yield from self.container(
                item.children,
                item,
                (*way, _label(item)),
                child(old_at, item.old_place or 0),
                child(new_at, item.new_place or 0),
            )

    def leaf(self, item: Difference, label: str, pointer: str) -> Row:
        row = Row(
            item.kind,
            label=label,
            pointer=pointer,
            anchor="" if item.kind == "removed" else anchor(pointer),
            held=is_recommendation(pointer),
            moved=f"from place {_number(item.old_place)} to {_number(item.new_place)}" if item.moved else "",
        )
        if item.kind == "inside" or (item.kind == "same" and item.moved):
            row.kind = "moved"
            row.new = [Part("same", cut(_written(item.new), 300))]
        elif item.kind == "changed" and isinstance(item.old, str) and isinstance(item.new, str):
            old, new = marked(item.old, item.new)
            row.old, row.new = _bounded(old), _bounded(new)
        elif item.kind != "same":
            row.old = [] if item.kind == "added" else _bounded([Part("same", _written(item.old))])
            row.new = [] if item.kind == "removed" else _bounded([Part("same", _written(item.new))])
        return row


def _fold(folds: Sequence[Difference], holder: Difference) -> Row:
    count = sum(item.count for item in folds)
    named = [pair for item in folds for pair in islice(_run(item, holder.old), MOST_FOLDED)][:MOST_FOLDED]
    return Row("same", count=count, names=[(cut(name, 80), cut(_line(value), 160)) for name, value in named])


def _run(item: Difference, holder: JSONValue) -> Iterator[tuple[str, JSONValue]]:
    """The members that one stretch of equal ones stands for."""
    if isinstance(holder, list) and isinstance(item.old_place, int):
        for place in range(item.old_place, item.old_place + item.count):
            yield f"{place + 1}", holder[place]
        return
    members = list(holder.items()) if isinstance(holder, dict) else []
    start = next((number for number, (name, _) in enumerate(members) if name == item.old_place), 0)
    yield from members[start : start + item.count]


def _label(item: Difference) -> str:
    """A member's name; for a member of a list its number and what names it."""
    place = item.new_place if item.new_place is not None else item.old_place
    if not isinstance(place, int):
        return str(place)
    named = identity(item.new if item.new_place is not None else item.old)
    return f"{place + 1} · {cut(str(named[1]), 80)}" if isinstance(named, tuple) else f"{place + 1}"


def _number(place: str | int | None) -> int:
    return place + 1 if isinstance(place, int) else 0


def _written(value: JSONValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _line(value: JSONValue) -> str:
    if isinstance(value, dict | list) and len(value) > 8:
        return f"{len(value)} entries"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bounded(parts: Sequence[Part]) -> list[Part]:
    """At most LONGEST characters; what is cut off is counted."""
    found: list[Part] = []
    left = LONGEST
    for number, part in enumerate(parts):
        if part.kind != "left_out":
            if len(part.text) > left:
                rest = sum(len(other.text) for other in parts[number:] if other.kind != "left_out") - left
                return [*found, Part(part.kind, part.text[:left]), Part("left_out", str(rest))]
            left -= len(part.text)
        found.append(part)
    return found
