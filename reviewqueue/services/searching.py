"""Finding a handoff, session or ticket by what one has at hand of its name: one step down an index each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import cast
from uuid import UUID

from django.db.models import Model, QuerySet, Value
from django.db.models.functions import Collate, Lower

from checkpoints.models import Handoff, Session, Ticket
from reviewqueue.models import User
from reviewqueue.services.access import Act, may

LONGEST = 200  # characters of a question; names are cut at 600 bytes
MOST_HANDOFFS, MOST_SESSIONS, MOST_TICKETS = 6, 4, 4


@dataclass(frozen=True, slots=True)
class Named[Row: Model]:
    """A row found by one of its names; `exact` where the whole name was given."""

    row: Row
    name: str
    exact: bool


@dataclass(frozen=True, slots=True)
class Found:
    """Whole names first, then beginnings, the newest names first."""

    handoffs: list[Named[Handoff]] = field(default_factory=list)
    sessions: list[Named[Session]] = field(default_factory=list)
    tickets: list[Named[Ticket]] = field(default_factory=list)


def find(*, person: User, text: str) -> Found:
    """What bears this name or one that begins with it, upper and lower case alike. Nothing for who may not see it."""
    text = text.strip()
    if not 0 < len(text) <= LONGEST or "\0" in text or not may(person, Act.SEE_QUEUE):
        return Found()
    return Found(_handoffs(text), _sessions(text), _tickets(text))


def _handoffs(text: str) -> list[Named[Handoff]]:
    rows = Handoff.objects.with_names()
    own = _uuid(text)
    found = [Named(row, text, exact=True) for row in rows.filter(pk=own)] if own else []
    found += _by_name(rows, "checkpoint_id", text, MOST_HANDOFFS)
    found += _by_name(rows.filter(source_id__isnull=False), "source_id", text, MOST_HANDOFFS)
    return _first_of_each(found, key=lambda item: item.row.pk)[:MOST_HANDOFFS]


def _sessions(text: str) -> list[Named[Session]]:
    """One of each name: a session's page shows all orchestrators that use it."""
    found = _by_name(Session.objects.select_related("orchestrator"), "session_id", text, MOST_SESSIONS * 2)
    return _first_of_each(found, key=lambda item: item.name)[:MOST_SESSIONS]


def _tickets(text: str) -> list[Named[Ticket]]:
    given = text.upper()
    rows = Ticket.objects.select_related("handoff").filter(reference__startswith=given)
    newest = rows.order_by("-reference")[:MOST_TICKETS]
    return [Named(row, row.reference, exact=row.reference == given) for row in newest]


def _by_name[Row: Model](rows: QuerySet[Row], name: str, text: str, most: int) -> list[Named[Row]]:
    """By the index over the lower-case name in byte order: the whole name, then those that begin with it."""
    given = Lower(Value(text))  # by the database's rule for lower case, as the index has it
    lowered = Collate(Lower(name), "C")
    named = cast("QuerySet[Row]", rows.alias(lowered=lowered))
    exact = list(named.filter(lowered=given).order_by("-pk")[:most])
    found = [Named(row, getattr(row, name), exact=True) for row in exact]
    if len(found) < most:
        longer = named.filter(lowered__startswith=given).exclude(lowered=given).order_by("-lowered")
        found += [Named(row, getattr(row, name), exact=False) for row in longer[: most - len(found)]]
    return found


def _first_of_each[Row: Model](
    found: Iterable[Named[Row]], *, key: Callable[[Named[Row]], Hashable]
) -> list[Named[Row]]:
    """Whole names before beginnings, and each thing once."""
    first: dict[Hashable, Named[Row]] = {}
    for item in sorted(found, key=lambda item: not item.exact):
        first.setdefault(key(item), item)
    return list(first.values())


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text) if len(text) == 36 else None
    except ValueError:
        return None
