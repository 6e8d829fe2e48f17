"""`/queue/`: what waits for a person, worst and most urgent first."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import F, QuerySet
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from checkpoints.errors import InvalidInput
from checkpoints.models import Handoff
from checkpoints.services import clock
from reviewqueue.models import User
from reviewqueue.pages import addressing, keyset, listing, pacing, terms, waiting
from reviewqueue.pages.rows import live_claim, queue_row
from reviewqueue.pages.shell import PersonRequest, is_partial, page, render_page, unchanged
from reviewqueue.services import access
from reviewqueue.services.access import Act
from reviewqueue.services.commenting import mentioning
from reviewqueue.services.saving import visible

TABS = {
    "waiting": "Waiting",
    "mine": "Mine",
    "second": "Needs second approver",
    "risk": "High risk",
    "escalated": "Escalated",
    "rejected": "Rejected",
}
URGENCY = (
    keyset.Column("urgency", keyset.read_integer, descending=True),
    keyset.Column("review_deadline", keyset.read_instant, nullable=True),
    keyset.Column("id", keyset.read_text),
)
NEWEST = (
    keyset.Column("received_at", keyset.read_instant, descending=True),
    keyset.Column("id", keyset.read_text, descending=True),
)
ORDER_OF_URGENCY = "Most severe first, high risk counting as high, then the nearest deadline"
ORDER_OF_NEWEST = "Newest first"


@page(may=Act.SEE_QUEUE)
def queue(request: PersonRequest) -> HttpResponse:
    given, faults = addressing.read_address(request.GET)
    view = read_view(given)
    filters = addressing.read_filters(given)
    path = reverse("review:queue")
    if not faults and not is_partial(request) and dict(request.GET.items()) != given:
        return HttpResponseRedirect(listing.link(path, given))
    rows, columns = listed(given, request.user)
    found = keyset.take(
        rows.select_related("session", "orchestrator", "claim__holder"),
        columns,
        after=given.get("after", ""),
        before=given.get("before", ""),
    )
    counts = {
        name: waiting.tab_count(name, filters.apply(waiting.tab(name, request.user), request.user))
        for name in TABS
    }
    at = clock.now()
    shown = [handoff.pk for handoff in found.rows]
    named = mentioning(person=request.user, handoff_ids=shown)
    untold = set(waiting.untold(Handoff.objects.filter(pk__in=shown)).values_list("pk", flat=True))
    tag = _entity_tag(request, found, counts, (named, untold), at)
    if (same := unchanged(request, tag)) is not None:
        return same
    context = {
        "view": view,
        "view_label": TABS[view],
        "order": ORDER_OF_NEWEST if view == "rejected" else ORDER_OF_URGENCY,
        "tabs": [_tab(name, given, counts[name], view) for name in TABS],
        "rows": [
            queue_row(handoff, request.user, at, mentioned=handoff.pk in named, untold=handoff.pk in untold)
            for handoff in found.rows
        ],
        "count": counts[view],
        "filters": filters,
        "given": given,
        "faults": faults,
        "typed": request.GET.get("q", "") if faults else filters.q,
        "chips": addressing.chips(path, given),
        "states": terms.IS,
        "poll": "" if faults else request.get_full_path(),
        "here": listing.link(path, given),
        "place": listing.suffix(given),
        **listing.around(path, given, found),
        "decides": access.may(request.user, Act.DECIDE),
        "picks": access.may(request.user, Act.DECIDE) and view != "rejected",
        "query": urlencode({name: text for name, text in given.items() if name not in listing.CURSORS}),
        "saved_views": [] if is_partial(request) else list(visible(request.user)),
        "now": at,
    }
    if is_partial(request):
        response = render(request, "queue.html#live", {**context, "badge": waiting.badge()})
    else:
        more = {**_empty_facts(found, given), **addressing.suggestions(), "pace": pacing.card(request, at)}
        status = 400 if faults else 200
        response = render_page(request, "queue.html", {**context, **more}, here="queue", status=status)
    response.headers["ETag"] = tag
    return response


def listed(given: Mapping[str, str], user: User) -> tuple[QuerySet[Handoff], tuple[keyset.Column, ...]]:
    """The rows of the list at an address, and their order. Raises InvalidInput (400) as the page does."""
    view = read_view(given)
    columns = NEWEST if view == "rejected" else URGENCY
    return addressing.read_filters(given).apply(waiting.tab(view, user), user), columns


def read_view(given: Mapping[str, str]) -> str:
    view = given.get("view", "waiting")
    if view not in TABS:
        raise InvalidInput(f"“view” is one of {', '.join(TABS)}.", status=400)
    return view


def _tab(name: str, given: Mapping[str, str], count: str, current: str) -> dict[str, Any]:
    kept = {key: value for key, value in given.items() if key in addressing.FILTERS and value}
    return {
        "name": name,
        "label": TABS[name],
        "count": count,
        "current": name == current,
        "href": listing.link(reverse("review:queue"), {**kept, "view": "" if name == "waiting" else name}),
    }


def _empty_facts(found: keyset.Slice[Handoff], given: Mapping[str, str]) -> dict[str, Any]:
    """What an empty list should say: nothing waits, nothing matches, or nothing ever came."""
    if found.rows or any(given.get(name) for name in addressing.FILTERS):
        return {}
    latest = Handoff.objects.exclude(decided_at=None).order_by(F("decided_at").desc()).first()
    return {"nothing_ever": not Handoff.objects.exists(), "last_decided": latest}


def _entity_tag(
    request: PersonRequest,
    found: keyset.Slice[Handoff],
    counts: Mapping[str, str],
    marked: tuple[set[UUID], set[UUID]],
    at: datetime,
) -> str:
    """Changes when anything printed changes, except the passing of time, which the browser counts itself."""
    parts: list[object] = [request.user.public_id, is_partial(request), sorted(counts.items()), found.next]
    for handoff in found.rows:
        claim = live_claim(handoff, at)
        held = (claim.holder_id, claim.expires_at) if claim else None
        parts.append((handoff.pk, handoff.version, held, *(handoff.pk in which for which in marked)))
    return '"' + hashlib.sha256(repr(parts).encode()).hexdigest()[:24] + '"'
