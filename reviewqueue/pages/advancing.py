"""Where a decision leads: to the next open handoff of the list that its person came from, or back to that list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q
from django.http import QueryDict
from django.template.loader import render_to_string
from django.urls import reverse

from checkpoints.errors import InvalidInput
from checkpoints.models import Decision, Handoff
from checkpoints.services import clock
from reviewqueue.models import AfterDecision, User
from reviewqueue.pages import addressing, keyset, listing, queue
from reviewqueue.pages.shell import PersonRequest
from reviewqueue.services.preferences import preferences_of

LONGEST = 2000  # characters of a list's address


@dataclass(frozen=True, slots=True)
class Place:
    """The list that a handoff was opened from, by the parameters of its address."""

    given: Mapping[str, str]

    @property
    def href(self) -> str:
        return listing.link(reverse("review:queue"), self.given)

    @property
    def query(self) -> str:
        return self.href.partition("?")[2]

    @property
    def suffix(self) -> str:
        return listing.suffix(self.given)


def place_of(request: PersonRequest) -> Place | None:
    """The list that the address or the form names; None where it names none that the queue would show."""
    sent = request.POST if "list" in request.POST else request.GET
    text = sent.get("list")
    if text is None or len(text) > LONGEST:
        return None
    try:
        given, faults = addressing.read_address(QueryDict(text))
        given = {name: value for name, value in given.items() if name not in listing.CURSORS}
        queue.listed(given, request.user)
    except InvalidInput:
        return None
    return None if faults else Place(given)


def next_of(
    place: Place | None, user: User, at: datetime, *, passed: Handoff | None = None
) -> Handoff | None:
    """The first handoff of the list (the whole queue without one) that still wants this person.

    It comes after `passed`, a handoff as it stood in the list, else from the top. Left out are what others have
    claimed, and what this person has decided on in its current round: there it waits for somebody else.
    """
    rows, columns = queue.listed(place.given if place else {}, user)
    mine = Decision.objects.filter(handoff=OuterRef("pk"), round=OuterRef("round"), actor_id=user.public_id)
    rows = rows.exclude(Q(claim__expires_at__gt=at) & ~Q(claim__holder=user)).exclude(Exists(mine))
    if passed is not None:
        rows = rows.exclude(pk=passed.pk)
        after = keyset.cursor(passed, columns)
        if found := keyset.take(rows, columns, after=after, size=1).rows:
            return found[0]
    return next(iter(keyset.take(rows, columns, size=1).rows), None)


def destination(place: Place, user: User, passed: Handoff) -> str:
    """The address to go to after a decision on `passed`, as this person wants it."""
    here = reverse("review:detail", args=[passed.pk]) + place.suffix
    wanted = preferences_of(person=user).after_decision
    if wanted is AfterDecision.STAY:
        return here
    following = next_of(place, user, clock.now(), passed=passed) if wanted is AfterDecision.NEXT else None
    return reverse("review:detail", args=[following.pk]) + place.suffix if following else place.href


def flash(text: str, handoff: Handoff, *, leads_to: str, can_undo: bool) -> str:
    """What was done, to what, and the way back, where the page that follows is another one."""
    href = reverse("review:detail", args=[handoff.pk])
    away = not leads_to.startswith(href)
    last = away and leads_to.startswith(reverse("review:queue"))
    context = {
        "text": text,
        "title": handoff.title,
        "href": href,
        "away": away,
        "last": last,
        "can_undo": can_undo,
    }
    return render_to_string("components/decided.html", context)
