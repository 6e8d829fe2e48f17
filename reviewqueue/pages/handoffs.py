"""`/handoffs/`: every handoff, newest first, decided or not."""

from __future__ import annotations

from django.db.models import Q
from django.http import HttpResponse
from django.urls import reverse

from checkpoints.errors import InvalidInput
from checkpoints.models import Handoff
from checkpoints.types import State
from reviewqueue.pages import keyset, listing, words
from reviewqueue.pages.queue import NEWEST
from reviewqueue.pages.rows import why
from reviewqueue.pages.shell import PersonRequest, page, render_page, single_parameters
from reviewqueue.services.access import Act

FILTERS = ("state", "role", "session", "finding", "q")


@page(may=Act.SEE_QUEUE)
def handoffs(request: PersonRequest) -> HttpResponse:
    given = single_parameters(request.GET, known=frozenset({*FILTERS, *listing.CURSORS}))
    wanted = listing.texts(given, FILTERS)
    found = keyset.take(
        _matching(wanted).select_related("session", "orchestrator"),
        NEWEST,
        after=given.get("after", ""),
        before=given.get("before", ""),
    )
    path = reverse("review:handoffs")
    context = {
        "rows": [
            {
                "handoff": handoff,
                "severity": words.SEVERITIES[handoff.severity],
                "title": words.cut(handoff.title, 160),
                "why": why(handoff) if handoff.outcome else "",
                "state": words.STATES[State(handoff.state)],
            }
            for handoff in found.rows
        ],
        "given": wanted,
        "states": [(state.value, text) for state, text in words.STATES.items()],
        "chips": listing.chips(path, given, FILTERS),
        **listing.around(path, given, found),
    }
    return render_page(request, "handoffs.html", context, here="handoffs")


def _matching(wanted: dict[str, str]):  # type: ignore[no-untyped-def]
    rows = Handoff.objects.all()
    if wanted["state"]:
        if wanted["state"] not in {state.value for state in State}:
            raise InvalidInput(f"“state” is one of {', '.join(State)}.", status=400)
        rows = rows.filter(state=wanted["state"])
    if wanted["role"]:
        rows = rows.filter(Q(agent_role=wanted["role"]) | Q(target_role=wanted["role"]))
    if wanted["session"]:
        rows = rows.filter(session__session_id=wanted["session"])
    if wanted["finding"]:
        rows = rows.filter(finding_codes__contains=[wanted["finding"]])
    if wanted["q"]:
        rows = rows.filter(Q(title__icontains=wanted["q"]) | Q(checkpoint_id=wanted["q"]))
    return rows
