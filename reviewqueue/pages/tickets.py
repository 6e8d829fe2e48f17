"""`/tickets/{reference}/`: what an approval ticket covers and where it stands."""

from __future__ import annotations

from django.http import HttpResponse

from checkpoints.errors import NotFound
from checkpoints.models import Ticket
from checkpoints.services import clock
from reviewqueue.models import User
from reviewqueue.pages.shell import PersonRequest, page, render_page
from reviewqueue.services.access import Act


@page(may=Act.SEE_QUEUE)
def ticket(request: PersonRequest, reference: str) -> HttpResponse:
    found = (
        Ticket.objects.select_related("handoff__session", "orchestrator").filter(reference=reference).first()
    )
    if found is None:
        raise NotFound("No approval ticket has this reference.")
    ids = [approver.get("id") for approver in found.approvers]
    names = {user.public_id: user.label for user in User.objects.filter(public_id__in=ids)}
    approvers = [
        {**approver, "label": names.get(approver.get("id", ""), approver.get("id"))}
        for approver in found.approvers
    ]
    context = {"ticket": found, "approvers": approvers, "now": clock.now()}
    return render_page(request, "ticket.html", context, here="handoffs")
