"""The review queue as a query: one definition for the rows, the tabs and the badge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import DateTimeField, DurationField, Exists, ExpressionWrapper, F, OuterRef, QuerySet
from django.db.models.functions import Coalesce, Now

from checkpoints.models import Handoff
from reviewqueue.models import Claim, User, Viewing
from reviewqueue.pages.terms import Age

MOST_COUNTED = 1000  # nobody plans by the exact length of a longer queue, and counting it costs
MOST_REJECTED = 99  # these pile up while nobody looks: more than this is simply "many"


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows the list, as it stands in the address. None or "" leaves it out."""

    severity: int | None = None
    role: str = ""
    finding: str = ""
    session: str = ""
    q: str = ""
    states: tuple[str, ...] = ()  # of terms.IS
    age: Age | None = None

    def apply(self, rows: QuerySet[Handoff], user: User) -> QuerySet[Handoff]:
        for state in self.states:
            rows = STATES[state](rows, user)
        if self.age is not None:
            rows = rows.alias(since=Coalesce("flagged_at", "received_at"))
            bound = Now() - self.age.span
            rows = rows.filter(since__gt=bound) if self.age.younger else rows.filter(since__lte=bound)
        if self.severity is not None:
            rows = rows.filter(urgency=self.severity)
        if self.role:
            rows = rows.filter(agent_role=self.role) | rows.filter(target_role=self.role)
        if self.finding:
            rows = rows.filter(finding_codes__contains=[self.finding])
        if self.session:
            rows = rows.filter(session__session_id=self.session)
        if self.q:
            # One or the other: with both in one condition a common word reads and sorts every row.
            named = rows.filter(checkpoint_id=self.q)
            rows = named if named.exists() else rows.filter(title__icontains=self.q)
        return rows


def _claims(**condition: object) -> Exists:
    return Exists(Claim.objects.filter(handoff=OuterRef("pk"), expires_at__gt=Now(), **condition))


def untold(rows: QuerySet[Handoff]) -> QuerySet[Handoff]:
    """Nobody opened this revision or claimed it, and a quarter of the time until the deadline is gone."""
    seen = Exists(Viewing.objects.filter(handoff=OuterRef("pk"), revision=OuterRef("revision")))
    whole = ExpressionWrapper(F("review_deadline") - F("flagged_at"), DurationField())
    quarter = ExpressionWrapper(whole / 4, DurationField())
    late = ExpressionWrapper(Now() - quarter, DateTimeField())
    return rows.awaiting_person().filter(~seen, ~_claims(), flagged_at__lt=late)  # type: ignore[attr-defined,no-any-return]


#: What each value of `is:` means (terms.IS says it in words).
STATES: dict[str, Callable[[QuerySet[Handoff], User], QuerySet[Handoff]]] = {
    "unclaimed": lambda rows, user: rows.filter(~_claims()),
    "claimed": lambda rows, user: rows.filter(_claims()),
    "mine": lambda rows, user: rows.filter(_claims(holder=user)),
    "untold": lambda rows, user: untold(rows),
    "overdue": lambda rows, user: rows.filter(review_deadline__lte=Now()),
    "edited": lambda rows, user: rows.filter(revision__gt=1),
    "reopened": lambda rows, user: rows.filter(reopened=True),
    "returned": lambda rows, user: rows.filter(last_attempt__gt=0, state="flagged"),
    "escalated": lambda rows, user: rows.filter(state="escalated"),
    "high-risk": lambda rows, user: rows.filter(risk="high"),
    "half-approved": lambda rows, user: rows.filter(approvals_required__gte=2, approvals_given__gte=1),
}


def tab(name: str, user: User) -> QuerySet[Handoff]:
    """The rows of one tab: waiting, mine, second, risk, escalated, rejected."""
    rows = Handoff.objects.all()
    if name == "mine":
        return rows.awaiting_person().filter(claim__holder=user, claim__expires_at__gt=Now())
    if name == "second":
        return rows.wants_second_approver()
    if name == "risk":
        return rows.high_risk()
    if name == "escalated":
        return rows.escalated()
    if name == "rejected":
        return rows.rejected_unseen()
    return rows.awaiting_person()


def tab_count(name: str, rows: QuerySet[Handoff]) -> str:
    """How many rows the tab `name` holds, in digits up to its cap."""
    return capped_count(rows, most=MOST_REJECTED if name == "rejected" else MOST_COUNTED)


def capped_count(rows: QuerySet[Handoff], *, most: int | None = None) -> str:
    """How many, in digits; "1000+" above the cap."""
    most = MOST_COUNTED if most is None else most
    found = rows.order_by()[: most + 1].count()
    return str(found) if found <= most else f"{most}+"


def badge() -> str:
    """Everything that wants a person: waiting, and rejected that nobody has seen. The sum of two tabs."""
    waits = capped_count(Handoff.objects.awaiting_person())
    rejected = tab_count("rejected", Handoff.objects.rejected_unseen())
    total = int(waits.rstrip("+")) + int(rejected.rstrip("+"))
    return f"{min(total, MOST_COUNTED)}+" if "+" in waits + rejected or total > MOST_COUNTED else str(total)
