"""`/handoffs/{id}/diff/`: this document against another of its session, or against one of its own revisions.

`against` is a sequence of the session ("13"), a revision of this handoff ("r1"), or empty: the checkpoint that the
checks compared with. `revision` picks an earlier revision of this handoff as the newer side.
"""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render

from reviewqueue.pages import comparing, review
from reviewqueue.pages.shell import (
    PersonRequest,
    actor,
    is_partial,
    page,
    render_page,
    single_parameters,
)
from reviewqueue.services.access import Act
from reviewqueue.services.reading import record_reading
from reviewqueue.services.viewing import record_diff_opened

LAYOUTS = ("side", "unified")


@page(may=Act.READ_BODIES)
def diff(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    given = single_parameters(request.GET, known=frozenset({"against", "revision", "layout"}))
    handoff = review.find(handoff_id)
    newer = (
        comparing.revision_side(handoff, given["revision"])
        if given.get("revision")
        else comparing.current(handoff)
    )
    comparison = comparing.build(comparing.older_side(handoff, newer, given.get("against", "")), newer)
    if request.method == "GET":
        record_reading(handoff_id=handoff.pk, reader=request.user, request=actor(request))
        record_diff_opened(handoff_id=handoff.pk, revision=handoff.revision, viewer=request.user)
    context = {
        "handoff": handoff,
        "comparison": comparison,
        "choices": comparing.choices(handoff),
        "layout": given["layout"] if given.get("layout") in LAYOUTS else "side",
    }
    if is_partial(request):
        return render(request, "handoff/changes.html", {**context, "inside": True})
    return render_page(request, "diff.html", context, here="queue")
