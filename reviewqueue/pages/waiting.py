"""The review queue as a query: one definition for the rows, the tabs and the badge."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet
from django.db.models.functions import Now

from checkpoints.models import Handoff
from reviewqueue.models import User

MOST_COUNTED = 1000  # nobody plans by the exact length of a longer queue, and counting it costs


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows the list, as it stands in the address. None or "" leaves it out."""

    severity: int | None = None
    role: str = ""
    finding: str = ""
    session: str = ""
    q: str = ""

    def apply(self, rows: QuerySet[Handoff]) -> QuerySet[Handoff]:
        if self.severity is not None:
            rows = rows.filter(severity=self.severity)
        if self.role:
            rows = rows.filter(agent_role=self.role) | rows.filter(target_role=self.role)
        if self.finding:
            rows = rows.filter(finding_codes__contains=[self.finding])
        if self.session:
            rows = rows.filter(session__session_id=self.session)
        if self.q:
            rows = rows.filter(title__icontains=self.q) | rows.filter(checkpoint_id=self.q)
        return rows


def tab(name: str, user: User) -> QuerySet[Handoff]:
    """The rows of one tab: waiting, mine, escalated, rejected."""
    rows = Handoff.objects.all()
    if name == "mine":
        return rows.awaiting_person().filter(claim__holder=user, claim__expires_at__gt=Now())
    if name == "escalated":
        return rows.escalated()
    if name == "rejected":
        return rows.rejected_unseen()
    return rows.awaiting_person()


def capped_count(rows: QuerySet[Handoff]) -> str:
    """How many, in digits; "1000+" above the cap."""
    found = rows.order_by()[: MOST_COUNTED + 1].count()
    return str(found) if found <= MOST_COUNTED else f"{MOST_COUNTED}+"


def badge() -> str:
    """Everything that wants a person: waiting, and rejected that nobody has seen."""
    rows = Handoff.objects.awaiting_person() | Handoff.objects.rejected_unseen()
    return capped_count(rows)
