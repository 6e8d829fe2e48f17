"""A mirror for who approves very fast: their own last minutes in numbers. No lock, and nobody else sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from statistics import median

from django.db.models import Count

from checkpoints.models import Action, Decision, Handoff
from checkpoints.types import State
from reviewqueue.models import User, Viewing
from reviewqueue.services.access import Act, may

WINDOW = timedelta(minutes=10)
LEAST = 8  # approvals; fewer are no pace
QUICK_SECONDS = 10  # with the page in front, as the middle one of them
MOST_AGAIN = 3


@dataclass(frozen=True, slots=True)
class Look:
    """One approval: seconds with the page in front, findings that stood there and how many of them were opened."""

    at: datetime
    seconds: int
    findings: int
    opened: int


@dataclass(frozen=True, slots=True)
class Pace:
    """In `unopened` of `with_findings` approvals no finding was opened. `again`: these can still be taken back."""

    approvals: int
    minutes: int
    median_seconds: int
    with_findings: int
    unopened: int
    again: tuple[Handoff, ...] = ()


def judge(looks: Sequence[Look]) -> Pace | None:
    """The numbers where they show both haste and findings that nobody opened, else None."""
    with_findings = [look for look in looks if look.findings]
    unopened = sum(1 for look in with_findings if not look.opened)
    if len(looks) < LEAST or not unopened or unopened * 2 < len(with_findings):
        return None
    middle = median(look.seconds for look in looks)
    if middle >= QUICK_SECONDS:
        return None
    times = [look.at for look in looks]
    minutes = max(1, ceil((max(times) - min(times)).total_seconds() / 60))
    return Pace(len(looks), minutes, int(middle), len(with_findings), unopened)


def pace_of(*, person: User, at: datetime) -> Pace | None:
    """The person's own pace in the last minutes. Approvals of which no browser told anything do not count."""
    if not may(person, Act.DECIDE):
        return None
    mine = Decision.objects.filter(actor_id=person.public_id, action=Action.APPROVE, at__gt=at - WINDOW)
    decisions = list(mine.select_related("handoff").order_by("-at"))
    if len(decisions) < LEAST:
        return None
    rows = Viewing.objects.filter(viewer=person, handoff__in=[item.handoff_id for item in decisions])
    seen = {(row.handoff_id, row.revision): row for row in rows.annotate(times_opened=Count("opened"))}
    looks = [
        Look(item.at, row.seconds, item.handoff.finding_count, row.times_opened)
        for item in decisions
        if (row := seen.get((item.handoff_id, item.revision))) is not None
    ]
    found = judge(looks)
    again = [item.handoff for item in decisions if item.handoff.state == State.APPROVED]
    return None if found is None else replace(found, again=tuple(again[:MOST_AGAIN]))
