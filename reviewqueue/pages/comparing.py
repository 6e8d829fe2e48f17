"""Which two documents are compared, and what of it a page can show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from checkpoints.errors import InvalidInput, NotFound
from checkpoints.formats import reread
from checkpoints.models import CheckpointBody, Handoff
from checkpoints.services.history import predecessor
from checkpoints.types import Submission
from reviewqueue.diffs import compare, patch
from reviewqueue.pages import changes

MOST_BYTES = 2 << 20  # of both documents together; more is offered as files
AT_ONCE = 256 << 10  # bytes of both that the page of the handoff compares without being asked
LISTED = 60  # other checkpoints of the session in the selector, nearest first


@dataclass(slots=True)
class Side:
    """One of the two documents. `value` is what `against` or `revision` says to get it."""

    handoff: Handoff
    revision: int
    value: str
    words: str


@dataclass(slots=True)
class Comparison:
    """`problem` says why nothing is shown; `large` that it would be slow."""

    older: Side | None
    newer: Side
    shown: changes.Shown | None = None
    patch: list[Any] = field(default_factory=list)
    problem: str = ""
    large: bool = False


def at_once(handoff: Handoff) -> Comparison | None:
    """What the page of the handoff shows by itself; None where it has nothing to be compared with."""
    before = predecessor(handoff=handoff)
    newer = current(handoff)
    if before is not None:
        return build(_side(before), newer, most=AT_ONCE)
    return build(revision_side(handoff, "r1"), newer, most=AT_ONCE) if handoff.revision > 1 else None


def current(handoff: Handoff) -> Side:
    words = f"revision {handoff.revision}" if handoff.revision > 1 else f"sequence {handoff.handoff_sequence}"
    return Side(handoff, handoff.revision, "", words)


def build(older: Side | None, newer: Side, *, most: int = MOST_BYTES) -> Comparison:
    """Compare what is stored. Documents above the bound are not read into a page."""
    found = Comparison(older, newer)
    if older is None:
        found.problem = (
            "There is no earlier checkpoint of this task and role, so there is nothing to compare with."
        )
        return found
    sizes = [_size(side) for side in (older, newer)]
    if None in sizes:
        found.problem = "One of the two bodies was deleted when its retention period ended."
        return found
    if sum(size for size in sizes if size is not None) > most:
        found.large = True
        return found
    tree = compare(_read(older).payload, _read(newer).payload)
    found.shown = changes.shown(tree)
    if found.shown.changed <= changes.MOST_ROWS and not found.shown.left_out:
        found.patch = patch(tree)
    return found


def choices(handoff: Handoff) -> list[tuple[str, str]]:
    """(value, words) of everything that the selector offers, nearest first."""
    offered = []
    before = predecessor(handoff=handoff)
    if before is not None:
        offered.append(("", f"{_side(before).words}, the one before"))
    offered += [
        (f"r{number}", f"revision {number} of this handoff") for number in range(handoff.revision - 1, 0, -1)
    ]
    others = Handoff.objects.filter(session=handoff.session).exclude(pk=handoff.pk)
    here = handoff.handoff_sequence
    near = [
        *others.filter(handoff_sequence__lt=here).order_by("-handoff_sequence")[:LISTED],
        *others.filter(handoff_sequence__gt=here).order_by("handoff_sequence")[: LISTED // 4],
    ]
    return [*offered, *((str(item.handoff_sequence), _side(item).words) for item in near if item != before)]


def older_side(handoff: Handoff, newer: Side, text: str) -> Side | None:
    if text.startswith("r"):
        return revision_side(handoff, text)
    if text:
        number = _integer(text, "against")
        other = Handoff.objects.filter(session=handoff.session, handoff_sequence=number).first()
        if other is None:
            raise NotFound(f"This session has no checkpoint with sequence {number}.")
        return _side(other)
    before = predecessor(handoff=handoff)
    if before is not None:
        return _side(before)
    return revision_side(handoff, f"r{newer.revision - 1}") if newer.revision > 1 else None


def _side(handoff: Handoff) -> Side:
    route = f"{handoff.agent_role or 'unnamed'} → {handoff.target_role or 'unnamed'}"
    sequence = handoff.handoff_sequence
    return Side(handoff, handoff.revision, str(sequence), f"sequence {sequence} · {route[:90]}")


def revision_side(handoff: Handoff, text: str) -> Side:
    number = _integer(text.removeprefix("r"), "revision")
    if not 1 <= number <= handoff.revision:
        raise NotFound(f"This handoff has no revision {number}; its newest is {handoff.revision}.")
    return Side(handoff, number, f"r{number}", f"revision {number}")


def _integer(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 17):
        raise InvalidInput(f"“{name}” is a sequence such as 13, or a revision such as r1.", status=400)
    return int(text)


def _rows(side: Side) -> Any:
    return CheckpointBody.objects.filter(checkpoint__handoff=side.handoff, checkpoint__revision=side.revision)


def _size(side: Side) -> int | None:
    """Bytes of the stored body; None where it is gone."""
    size: int | None = _rows(side).values_list("checkpoint__size", flat=True).first()
    return size


def _read(side: Side) -> Submission:
    return reread(bytes(_rows(side).values_list("content", flat=True).get()))
