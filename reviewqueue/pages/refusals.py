"""`/refusals/`: bodies that could not be stored as checkpoints, kept in quarantine for 30 days."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import reverse

from checkpoints.models import Refusal
from reviewqueue.pages import keyset, listing
from reviewqueue.pages.shell import PersonRequest, page, render_page, single_parameters
from reviewqueue.services.access import Act

NEWEST = (
    keyset.Column("at", keyset.read_instant, descending=True),
    keyset.Column("id", keyset.read_text, descending=True),
)
FILTERS = ("orchestrator", "session")


@page(may=Act.SEE_QUEUE)
def refusals(request: PersonRequest) -> HttpResponse:
    given = single_parameters(request.GET, known=frozenset({*FILTERS, *listing.CURSORS}))
    wanted = listing.texts(given, FILTERS)
    rows = Refusal.objects.select_related("orchestrator")
    if wanted["orchestrator"]:
        rows = rows.filter(orchestrator__name=wanted["orchestrator"])
    if wanted["session"]:
        rows = rows.filter(session_id=wanted["session"])
    found = keyset.take(rows, NEWEST, after=given.get("after", ""), before=given.get("before", ""))
    path = reverse("review:refusals")
    context = {
        "rows": [{"refusal": row, "slug": row.type.rpartition("/")[2]} for row in found.rows],
        "given": wanted,
        "chips": listing.chips(path, given, FILTERS),
        **listing.around(path, given, found),
    }
    return render_page(request, "refusals.html", context, here="refusals")
