"""`/queue/`: what waits for a person, worst and most urgent first."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from checkpoints.errors import InvalidInput
from checkpoints.models import Handoff
from checkpoints.services import clock
from checkpoints.types import Reason, State
from reviewqueue.models import Claim, User
from reviewqueue.pages import keyset, listing, pacing, waiting, words
from reviewqueue.pages.shell import PersonRequest, is_partial, page, render_page, single_parameters, unchanged
from reviewqueue.services import access
from reviewqueue.services.access import Act
from reviewqueue.services.commenting import mentioning

TABS = {
    "waiting": "Waiting",
    "mine": "Mine",
    "second": "Needs second approver",
    "risk": "High risk",
    "escalated": "Escalated",
    "rejected": "Rejected",
}
FILTERS = ("severity", "role", "finding", "session", "q")
PARAMETERS = frozenset({"view", *listing.CURSORS, *FILTERS})
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
TITLE_LENGTH = 160


@dataclass(frozen=True, slots=True)
class Quorum:
    required: int
    given: int

    @property
    def dots(self) -> list[bool]:
        return [place < self.given for place in range(self.required)]


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One line of the queue, ready to print."""

    handoff: Handoff
    severity: str
    title: str
    why: str
    more: str
    tags: tuple[str, ...]
    since: datetime
    waited: str
    due: str
    tone: str
    used: float
    quorum: Quorum | None
    holder: str
    held_by_you: bool


@page(may=Act.SEE_QUEUE)
def queue(request: PersonRequest) -> HttpResponse:
    given = single_parameters(request.GET, known=PARAMETERS)
    view = read_view(given)
    filters = read_filters(given)
    rows, columns = listed(given, request.user)
    found = keyset.take(
        rows.select_related("session", "orchestrator", "claim__holder"),
        columns,
        after=given.get("after", ""),
        before=given.get("before", ""),
    )
    counts = {name: waiting.tab_count(name, filters.apply(waiting.tab(name, request.user))) for name in TABS}
    at = clock.now()
    named = mentioning(person=request.user, handoff_ids=[handoff.pk for handoff in found.rows])
    tag = _entity_tag(request, found, counts, named, at)
    if (same := unchanged(request, tag)) is not None:
        return same
    path = reverse("review:queue")
    context = {
        "view": view,
        "view_label": TABS[view],
        "order": ORDER_OF_NEWEST if view == "rejected" else ORDER_OF_URGENCY,
        "tabs": [_tab(name, given, counts[name], view) for name in TABS],
        "rows": [
            queue_row(handoff, request.user, at, mentioned=handoff.pk in named) for handoff in found.rows
        ],
        "count": counts[view],
        "filters": filters,
        "given": given,
        "chips": listing.chips(path, given, FILTERS),
        "poll": request.get_full_path(),
        "place": listing.suffix(given),
        **listing.around(path, given, found),
        "decides": access.may(request.user, Act.DECIDE),
        "now": at,
    }
    if is_partial(request):
        response = render(request, "queue.html#live", {**context, "badge": waiting.badge()})
    else:
        response = render_page(
            request,
            "queue.html",
            {**context, **_empty_facts(found, given), "pace": pacing.card(request, at)},
            here="queue",
        )
    response.headers["ETag"] = tag
    return response


def listed(given: Mapping[str, str], user: User) -> tuple[QuerySet[Handoff], tuple[keyset.Column, ...]]:
    """The rows of the list at an address, and their order. Raises InvalidInput (400) as the page does."""
    view = read_view(given)
    columns = NEWEST if view == "rejected" else URGENCY
    return read_filters(given).apply(waiting.tab(view, user)), columns


def read_view(given: Mapping[str, str]) -> str:
    view = given.get("view", "waiting")
    if view not in TABS:
        raise InvalidInput(f"“view” is one of {', '.join(TABS)}.", status=400)
    return view


def read_filters(given: Mapping[str, str]) -> waiting.Filters:
    """The filters of an address. Raises InvalidInput (400) for a severity that is none."""
    severity = given.get("severity", "")
    if severity and severity not in words.RANKS:
        raise InvalidInput("“severity” is high, medium, low or none.", status=400)
    texts = listing.texts(given, FILTERS)
    return waiting.Filters(
        severity=words.RANKS[severity] if severity else None,
        role=texts["role"],
        finding=texts["finding"],
        session=texts["session"],
        q=texts["q"],
    )


def queue_row(handoff: Handoff, user: User, at: datetime, *, mentioned: bool = False) -> QueueRow:
    since = handoff.flagged_at or handoff.received_at
    deadline = handoff.review_deadline
    used = words.used_share(since, deadline, at) if deadline else 0.0
    claim = live_claim(handoff, at)
    return QueueRow(
        handoff=handoff,
        severity=words.SEVERITIES[handoff.urgency],
        title=words.cut(handoff.title, TITLE_LENGTH),
        why=why(handoff),
        more=_more(handoff),
        tags=(*(["mentions you"] if mentioned else []), *_tags(handoff)),
        since=since,
        waited=words.span((at - since).total_seconds()),
        due=words.deadline_words(deadline, at) if deadline else "",
        tone=words.deadline_tone(used),
        used=round(used, 3),
        quorum=_quorum(handoff),
        holder=claim.holder.label if claim else "",
        held_by_you=claim is not None and claim.holder_id == user.pk,
    )


def live_claim(handoff: Handoff, at: datetime) -> Claim | None:
    """The claim that counts now, from a row read together with its claim."""
    claim: Claim | None = getattr(handoff, "claim", None)
    return claim if claim is not None and claim.expires_at > at else None


def why(handoff: Handoff) -> str:
    """What stopped it in plain words: the first finding where findings did, else the first reason."""
    if handoff.state == State.ESCALATED and handoff.last_attempt:
        return "The receiver never took over"
    if _finding_speaks(handoff):
        return handoff.first_finding
    return words.REASONS[Reason(handoff.reasons[0])] if handoff.reasons else "Nothing was found"


def _finding_speaks(handoff: Handoff) -> bool:
    if handoff.state == State.ESCALATED and handoff.last_attempt:
        return False
    stopped_by = handoff.reasons[0] if handoff.reasons else Reason.FINDINGS
    return bool(handoff.first_finding) and stopped_by in (Reason.FINDINGS, Reason.REPORTED)


def _more(handoff: Handoff) -> str:
    """How many findings the line does not name."""
    if _finding_speaks(handoff):
        return (
            f"and {words.plural(handoff.finding_count - 1, 'more finding')}"
            if handoff.finding_count > 1
            else ""
        )
    return f"and {words.plural(handoff.finding_count, 'finding')}" if handoff.finding_count else ""


def _tags(handoff: Handoff) -> list[str]:
    tags = []
    if handoff.risk == "high" and handoff.reasons[:1] != [Reason.RISK]:
        tags.append("high risk")
    if handoff.state == State.ESCALATED:
        tags.append("escalated")
    if handoff.revision > 1:
        tags.append("edited")
    if handoff.reopened:
        tags.append("reopened")
    if handoff.last_attempt:
        tags.append(f"sent {words.plural(handoff.last_attempt, 'time')}")
    return tags


def _quorum(handoff: Handoff) -> Quorum | None:
    if handoff.approvals_required < 2:
        return None
    return Quorum(handoff.approvals_required, handoff.approvals_given)


def _tab(name: str, given: Mapping[str, str], count: str, current: str) -> dict[str, Any]:
    kept = {key: value for key, value in given.items() if key in FILTERS and value}
    return {
        "name": name,
        "label": TABS[name],
        "count": count,
        "current": name == current,
        "href": listing.link(reverse("review:queue"), {**kept, "view": "" if name == "waiting" else name}),
    }


def _empty_facts(found: keyset.Slice[Handoff], given: Mapping[str, str]) -> dict[str, Any]:
    """What an empty list should say: nothing waits, nothing matches, or nothing ever came."""
    if found.rows or any(given.get(name) for name in FILTERS):
        return {}
    latest = Handoff.objects.exclude(decided_at=None).order_by(F("decided_at").desc()).first()
    return {"nothing_ever": not Handoff.objects.exists(), "last_decided": latest}


def _entity_tag(
    request: PersonRequest,
    found: keyset.Slice[Handoff],
    counts: Mapping[str, str],
    named: set[UUID],
    at: datetime,
) -> str:
    """Changes when anything printed changes, except the passing of time, which the browser counts itself."""
    parts: list[object] = [request.user.public_id, is_partial(request), sorted(counts.items()), found.next]
    for handoff in found.rows:
        claim = live_claim(handoff, at)
        held = claim.holder_id if claim else None
        parts.append((handoff.pk, handoff.version, held, handoff.pk in named))
    return '"' + hashlib.sha256(repr(parts).encode()).hexdigest()[:24] + '"'
