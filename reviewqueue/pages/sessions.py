"""`/sessions/{session_id}/`: the handoffs of one session in their order, each with what happened to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from checkpoints.errors import NotFound
from checkpoints.models import AuditEntry, Handoff, Refusal, Session
from checkpoints.services.clock import now
from checkpoints.services.sessions import LISTED_GAPS, RunLine, overview, run_lines
from checkpoints.types import State
from reviewqueue.pages import keyset, listing, words
from reviewqueue.pages.rows import why
from reviewqueue.pages.session_story import stories
from reviewqueue.pages.shell import PersonRequest, page, render_page, single_parameters
from reviewqueue.services.access import Act

ORDER = (keyset.Column("handoff_sequence", keyset.read_integer), keyset.Column("id", keyset.read_text))
MOST_SESSIONS = 20  # different orchestrators may use one name
MOST_RUNS, DEEPEST = 200, 8
MOST_CONFLICTS = 5
MOST_BYPASSES = 20


@page(may=Act.SEE_QUEUE)
def session(request: PersonRequest, session_id: str) -> HttpResponse:
    given = single_parameters(request.GET, known=frozenset(listing.CURSORS))
    found_sessions = list(
        Session.objects.filter(session_id=session_id)
        .select_related("orchestrator")
        .order_by("id")[:MOST_SESSIONS]
    )
    if not found_sessions:
        raise NotFound("No checkpoint of such a session is stored.")
    path = reverse("review:session", args=[session_id])
    at = now()
    groups = [_group(item, given, path, at) for item in found_sessions]
    return render_page(request, "session.html", {"name": session_id, "groups": groups}, here="handoffs")


def _group(session: Session, given: dict[str, str], path: str, at: datetime) -> dict[str, Any]:
    found = keyset.take(
        Handoff.objects.filter(session=session),
        ORDER,
        after=given.get("after", ""),
        before=given.get("before", ""),
    )
    told = stories(found.rows, at)
    steps: list[dict[str, Any]] = []
    expected = None if given.get("after") or given.get("before") else 1
    for handoff in found.rows:
        gap = handoff.handoff_sequence - expected if expected is not None else 0
        expected = handoff.handoff_sequence + 1
        steps.append(
            {
                "handoff": handoff,
                "gap": gap,
                "title": words.cut(handoff.title, 200),
                "why": why(handoff) if handoff.outcome and handoff.outcome != "cleared" else "",
                "state": words.STATES[State(handoff.state)],
                "story": told[handoff.pk],
            }
        )
    whole = {"orchestrator": session.orchestrator, "steps": steps, **listing.around(path, given, found)}
    return whole | _summary(session)


def _summary(session: Session) -> dict[str, Any]:
    """What the session shows as a whole, whichever page of it is open."""
    found = overview(session=session)
    runs = run_lines(session=session, limit=MOST_RUNS + 1)
    conflicts = Refusal.objects.filter(
        orchestrator=session.orchestrator, session_id=session.session_id, status=409
    ).order_by("-at")
    return {
        "counts": [(words.STATES[State(state)], state, count) for state, count in found.state_counts.items()],
        "gaps": spans(found.gaps),
        "more_gaps": len(found.gaps) >= LISTED_GAPS,
        "conflicts": [
            {"refusal": item, "what": item.type.rpartition("/")[2].replace("-", " ")}
            for item in conflicts[:MOST_CONFLICTS]
        ],
        "conflict_count": conflicts.count(),
        "bypassed": _bypassed(session),
        "runs": forest(runs[:MOST_RUNS]),
        "more_runs": len(runs) > MOST_RUNS,
    }


def _bypassed(session: Session) -> list[Handoff]:
    """Handoffs of the session that a receiver acknowledged although nothing was given out to it."""
    named = {str(pk): pk for pk in Handoff.objects.filter(session=session).values_list("pk", flat=True)}
    entries = AuditEntry.objects.filter(
        subject_kind="handoff", subject_id__in=[*named], action="handoff.bypassed"
    )
    found = {named[subject] for subject in entries.values_list("subject_id", flat=True)}
    return list(Handoff.objects.filter(pk__in=found).order_by("handoff_sequence")[:MOST_BYPASSES])


def spans(numbers: Sequence[int]) -> list[str]:
    """Rising numbers as "4 to 6" and "8"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(first) if first == last else f"{first} to {last}" for first, last in found]


@dataclass(slots=True)
class Branch:
    """One run with the runs that it delegated to. `lost` where its parent stands nowhere in the session."""

    line: RunLine
    state: str
    lost: bool = False
    children: list[Branch] = field(default_factory=list)


def forest(lines: Iterable[RunLine]) -> list[Branch]:
    """Runs under the runs that delegated to them. Deeper than DEEPEST they stand side by side.

    Senders say who delegated to whom: a run that names itself, or whose parents run in a circle, is a root.
    """
    branches = [Branch(line, words.STATES[State(line.newest_state)]) for line in lines]
    by_run: dict[str, Branch] = {}
    for branch in branches:
        by_run.setdefault(branch.line.run_id, branch)
    roots: list[Branch] = []
    for branch in branches:
        above = _above(branch, by_run)
        if above:  # above[0] is the nearest, above[-DEEPEST] the last that has room for one more level
            above[-min(len(above), DEEPEST)].children.append(branch)
            continue
        branch.lost = branch.line.parent_run_id is not None and branch.line.parent_run_id not in by_run
        roots.append(branch)
    return roots


def _above(branch: Branch, by_run: dict[str, Branch]) -> list[Branch]:
    """The runs above one, the nearest first; [] for a root and for a circle."""
    above: list[Branch] = []
    seen = {id(branch)}
    parent = branch.line.parent_run_id
    while parent is not None and (next_one := by_run.get(parent)) is not None:
        if id(next_one) in seen:
            return []
        seen.add(id(next_one))
        above.append(next_one)
        parent = next_one.line.parent_run_id
    return above
