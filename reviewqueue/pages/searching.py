"""`/search/`: one place to go anywhere from. As a fragment it feeds the palette; as a page it works without script."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from checkpoints.models import Handoff, Session, Ticket
from checkpoints.types import State
from reviewqueue.models import User
from reviewqueue.pages import queue, words
from reviewqueue.pages.shell import PersonRequest, is_partial, page, render_page, single_parameters
from reviewqueue.services import access, searching
from reviewqueue.services.access import Act
from reviewqueue.services.saving import visible

MOST_PAGES = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the answer. `agent` marks a title in an agent's words; `beside` is the name that was found."""

    href: str
    title: str
    icon: str
    beside: str = ""
    note: str = ""
    agent: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True)
class Destination:
    """A page that can be gone to by its name or one of the other words for it."""

    title: str
    route: str
    icon: str
    may: Act | None = None
    also: str = ""
    query: str = ""


PLACES = (
    Destination("Queue", "review:queue", "queue", Act.SEE_QUEUE, "waiting review"),
    Destination("Handoffs", "review:handoffs", "handoff", Act.SEE_QUEUE, "all checkpoints history"),
    Destination("Refusals", "review:refusals", "refused", Act.SEE_QUEUE, "quarantine rejected bodies"),
    Destination("Audit trail", "review:audit", "audit", Act.AUDIT, "log history"),
    Destination("Your decisions", "review:audit", "audit", Act.OWN_AUDIT, "audit trail mine log"),
    Destination("Dashboard", "review:dashboard", "chart", Act.DASHBOARD, "figures statistics"),
    Destination("Policy", "review:policy", "policy", Act.POLICY_READ, "rules roles drafts"),
    Destination("API tokens", "review:tokens", "token", Act.ADMINISTER, "secrets keys"),
    Destination("Second factor", "mfa_index", "token", None, "account authenticator 2fa recovery codes"),
)
VIEWS = tuple(
    Destination(
        label,
        "review:queue",
        "queue",
        Act.SEE_QUEUE,
        "view queue",
        "" if name == "waiting" else f"view={name}",
    )
    for name, label in queue.TABS.items()
)


@page()
def find(request: PersonRequest) -> HttpResponse:
    """Everybody may ask; what is found is what the person may see."""
    text = single_parameters(request.GET, known=frozenset({"q"})).get("q", "").strip()[: searching.LONGEST]
    groups = list(_numbered(_groups(request.user, text.replace("\0", ""))))
    context = {"wanted": text, "groups": groups, "count": sum(len(entries) for _, entries in groups)}
    if is_partial(request):
        return render(request, "find.html#options", context)
    return render_page(request, "find.html", context)


def _groups(person: User, text: str) -> Iterator[tuple[str, list[Entry]]]:
    """Whole names first, then pages and views, then beginnings of names, at last a search through the titles."""
    found = searching.find(person=person, text=text)
    named: list[tuple[bool, str, Entry]] = [
        *((item.exact, "Handoffs", _handoff(item)) for item in found.handoffs),
        *((item.exact, "Sessions", _session(item)) for item in found.sessions),
        *((item.exact, "Tickets", _ticket(item)) for item in found.tickets),
    ]
    yield "Exactly this name", [entry for exact, _, entry in named if exact]
    yield "Pages", _places(PLACES, person, text)[:MOST_PAGES]
    yield "Views of the queue", _places((*VIEWS, *_saved(person)), person, text)
    for title in ("Handoffs", "Sessions", "Tickets"):
        yield title, [entry for exact, kind, entry in named if kind == title and not exact]
    if text and access.may(person, Act.SEE_QUEUE):
        yield "Search through titles", [_titles("queue", "Waiting", text), _titles("handoffs", "All", text)]


def _saved(person: User) -> Iterator[Destination]:
    """One's own saved views and the shared ones: at most some hundreds of short rows."""
    if access.may(person, Act.SEE_QUEUE):
        for view in visible(person):
            yield Destination(view.name, "review:queue", "queue", Act.SEE_QUEUE, "saved view", view.query)


def _places(places: tuple[Destination, ...], person: User, text: str) -> list[Entry]:
    """Every word of the question begins a word of the page's name or of the other words for it."""
    asked = text.casefold().split()
    found: dict[str, Entry] = {}
    for place in places:
        known = f"{place.title} {place.also}".casefold().split()
        if place.may is not None and not access.may(person, place.may):
            continue
        if all(any(word.startswith(part) for word in known) for part in asked):
            href = reverse(place.route) + (f"?{place.query}" if place.query else "")
            found.setdefault(href, Entry(href, place.title, place.icon))
    return list(found.values())


def _handoff(item: searching.Named[Handoff]) -> Entry:
    handoff = item.row
    return Entry(
        reverse("review:detail", args=[handoff.pk]),
        words.cut(handoff.title, 120),
        "handoff",
        beside=item.name,
        note=words.STATES[State(handoff.state)],
        agent=True,
    )


def _session(item: searching.Named[Session]) -> Entry:
    note = f"Session, last sequence {item.row.last_sequence}" if item.row.last_sequence else "Session"
    return Entry(reverse("review:session", args=[item.name]), item.name, "handoff", note=note)


def _ticket(item: searching.Named[Ticket]) -> Entry:
    title = words.cut(item.row.handoff.title, 120)
    return Entry(
        reverse("review:ticket", args=[item.name]),
        title,
        "policy",
        beside=item.name,
        note="Ticket",
        agent=True,
    )


def _titles(route: str, which: str, text: str) -> Entry:
    href = f"{reverse(f'review:{route}')}?{urlencode({'q': text})}"
    return Entry(href, f"{which} handoffs whose title contains", "search", beside=text)


def _numbered(groups: Iterator[tuple[str, list[Entry]]]) -> Iterator[tuple[str, list[Entry]]]:
    """Without empty groups; each entry with its place in the whole answer, from 1."""
    count = 0
    for title, entries in groups:
        if entries:
            yield title, [replace(entry, number=count + place) for place, entry in enumerate(entries, 1)]
            count += len(entries)
