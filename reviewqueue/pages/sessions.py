"""`/sessions/{session_id}/`: the handoffs of one session in their order."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.urls import reverse

from checkpoints.errors import NotFound
from checkpoints.models import Handoff, Session
from checkpoints.types import State
from reviewqueue.pages import keyset, listing, words
from reviewqueue.pages.queue import why
from reviewqueue.pages.shell import PersonRequest, page, render_page, single_parameters
from reviewqueue.services.access import Act

ORDER = (keyset.Column("handoff_sequence", keyset.read_integer), keyset.Column("id", keyset.read_text))
MOST_SESSIONS = 20  # different orchestrators may use one name


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
    groups = [_group(item, given, path) for item in found_sessions]
    return render_page(request, "session.html", {"name": session_id, "groups": groups}, here="handoffs")


def _group(session: Session, given: dict[str, str], path: str) -> dict[str, Any]:
    found = keyset.take(
        Handoff.objects.filter(session=session),
        ORDER,
        after=given.get("after", ""),
        before=given.get("before", ""),
    )
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
                "severity": words.SEVERITIES[handoff.severity],
                "why": why(handoff) if handoff.outcome and handoff.outcome != "cleared" else "",
                "state": words.STATES[State(handoff.state)],
            }
        )
    return {"orchestrator": session.orchestrator, "steps": steps, **listing.around(path, given, found)}
