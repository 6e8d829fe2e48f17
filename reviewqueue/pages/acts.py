"""The POST routes of a handoff: claim, release, decide, reopen, undo.

Each answers 303, or the page with what went wrong and everything that was typed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlencode
from uuid import UUID

from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse

from checkpoints.errors import NotFound, ReviewQueueError
from checkpoints.models import Action, Handoff
from checkpoints.services import clock
from checkpoints.types import State
from reviewqueue.pages import advancing, forms, keeping, review
from reviewqueue.pages.home import safe_next
from reviewqueue.pages.shell import PersonRequest, actor, page
from reviewqueue.services import claiming, deciding
from reviewqueue.services.access import Act

DONE = {
    "abort": "Aborted. The sender is told with your reason.",
    "send_back": "Sent back. The sender answers with its next checkpoint.",
    "escalate": "Escalated.",
}


def see_other(address: str) -> HttpResponse:
    response = HttpResponseRedirect(address)
    response.status_code = 303
    return response


def back(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    """To the page named by `next` where that is one of ours, else to the handoff."""
    return see_other(safe_next(request, reverse("review:detail", args=[handoff_id])))


def attempt(
    request: PersonRequest, handoff_id: UUID, act: Callable[[QueryDict], HttpResponse]
) -> HttpResponse:
    """Carry the act out; a refusal shows the handoff as it is now, the refusal, and everything that was typed."""
    try:
        return act(request.POST)
    except NotFound:
        raise
    except ReviewQueueError as error:
        handoff = review.find(handoff_id)
        response = review.show(
            request,
            handoff,
            clock.now(),
            typed=forms.typed(request.POST, error),
            problem=error,
            status=error.status,
        )
        if error.retry_after is not None:
            response.headers["Retry-After"] = str(error.retry_after)
        return response


@page(may=Act.DECIDE, methods=("POST",))
def decide(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    def act(posted: QueryDict) -> HttpResponse:
        values = forms.read(posted, forms.DECISION, prefixes=(forms.ANSWER, forms.RECONCILE))
        form = replace(forms.decision(values), factor_is_fresh=keeping.factor_is_fresh(request))
        place = advancing.place_of(request)
        before = Handoff.objects.filter(pk=handoff_id).first()  # where it stood in the list
        deciding.decide(handoff_id=handoff_id, reviewer=request.user, form=form, request=actor(request))
        keeping.forget(request, handoff_id)
        here = reverse("review:detail", args=[handoff_id])
        leads_to = (
            advancing.destination(place, request.user, before)
            if place and before
            else safe_next(request, here)
        )
        messages.success(request, _told(form.action, handoff_id, leads_to))
        return see_other(leads_to)

    return attempt(request, handoff_id, act)


def _told(action: str, handoff_id: UUID, leads_to: str) -> str:
    handoff = Handoff.objects.get(pk=handoff_id)
    text = DONE.get(action) or _approved(handoff)
    can_undo = action == Action.APPROVE and handoff.state == State.APPROVED
    return advancing.flash(text, handoff, leads_to=leads_to, can_undo=can_undo)


def _approved(handoff: Handoff) -> str:
    if handoff.state == State.APPROVED.value:
        return f"Approved with ticket {handoff.approval_ticket_reference}. You can take it back until it is sent."
    counted = f"{handoff.approvals_given} of {handoff.approvals_required}"
    return f"Your approval counts: {counted}. Another person has to approve too."


@page(may=Act.DECIDE, methods=("POST",))
def step_up(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    """Keep the decision form and go to the second factor, from which the way leads back to the filled-in form."""

    def act(posted: QueryDict) -> HttpResponse:
        values = forms.read(posted, forms.DECISION, prefixes=(forms.ANSWER, forms.RECONCILE))
        keeping.keep(request, handoff_id, values)
        place = advancing.place_of(request)
        here = reverse("review:detail", args=[handoff_id]) + (place.suffix if place else "")
        route = "mfa_reauthenticate" if is_mfa_enabled(request.user) else "mfa_activate_totp"
        return see_other(f"{reverse(route)}?{urlencode({'next': f'{here}#decision'})}")

    return attempt(request, handoff_id, act)


@page(may=Act.CLAIM, methods=("POST",))
def claim(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    def act(posted: QueryDict) -> HttpResponse:
        values = forms.read(posted, forms.REASON)
        claiming.claim(
            handoff_id=handoff_id,
            reviewer=request.user,
            reason=values.get("reason", ""),
            request=actor(request),
        )
        return back(request, handoff_id)

    return attempt(request, handoff_id, act)


@page(may=Act.CLAIM, methods=("POST",))
def release(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    def act(posted: QueryDict) -> HttpResponse:
        forms.read(posted, forms.REASON)
        claiming.release(handoff_id=handoff_id, reviewer=request.user, request=actor(request))
        return back(request, handoff_id)

    return attempt(request, handoff_id, act)


@page(may=Act.REOPEN, methods=("POST",))
def reopen(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    def act(posted: QueryDict) -> HttpResponse:
        values = forms.read(posted, forms.REASON)
        deciding.reopen(
            handoff_id=handoff_id,
            reviewer=request.user,
            reason=values.get("reason", ""),
            request=actor(request),
        )
        messages.success(request, "Reopened. It waits in the queue; only a senior operator may approve it.")
        return back(request, handoff_id)

    return attempt(request, handoff_id, act)


@page(may=Act.DECIDE, methods=("POST",))
def undo(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    def act(posted: QueryDict) -> HttpResponse:
        forms.read(posted, forms.REASON)
        deciding.undo(handoff_id=handoff_id, reviewer=request.user, request=actor(request))
        messages.success(
            request, "Taken back. The ticket is void and the handoff waits for a decision again."
        )
        return back(request, handoff_id)

    return attempt(request, handoff_id, act)
