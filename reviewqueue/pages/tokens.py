"""`/tokens/`: API tokens of the orchestrators. An admin makes and revokes them; the secret is shown once."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse

from checkpoints.errors import InvalidInput, ProblemError, ReviewQueueError
from checkpoints.models import ApiToken, Orchestrator, Scope
from checkpoints.services import clock
from checkpoints.services import tokens as service
from reviewqueue.pages import forms
from reviewqueue.pages.acts import see_other
from reviewqueue.pages.shell import PersonRequest, actor, page, render_page
from reviewqueue.services.access import Act

FIELDS = forms.ALWAYS | {"orchestrator", "label", "days", "scope"}
MOST = 500
DAYS = 90


@page(may=Act.ADMINISTER, methods=("GET", "POST"))
def tokens(request: PersonRequest) -> HttpResponse:
    if request.method != "POST":
        return _show(request, forms.Typed())
    try:
        scopes = request.POST.getlist("scope")
        posted = request.POST.copy()
        posted.pop("scope", None)
        values = forms.read(posted, FIELDS)
        made = _create(request, values, scopes)
    except ReviewQueueError as error:
        return _show(request, forms.typed(request.POST, error), status=error.status)
    return _show(request, forms.Typed(), secret=made, status=201)


def _create(request: PersonRequest, values: dict[str, str], scopes: list[str]) -> str:
    days = values.get("days", "")
    errors = []
    if not values.get("orchestrator", "").strip():
        errors.append(
            ProblemError("orchestrator", "required", "Name the orchestrator that will use the token.")
        )
    if not (days.isascii() and days.isdigit() and 1 <= int(days[:6] or 0) <= 3650):
        errors.append(ProblemError("days", "invalid", "Choose 1 to 3650 days."))
    if not scopes or not set(scopes) <= set(Scope.values):
        errors.append(ProblemError("scope", "invalid", "Choose at least one right."))
    if errors:
        raise InvalidInput("The token cannot be made.", slug="invalid-form", errors=errors)
    text, _ = service.create_token(
        orchestrator_name=values["orchestrator"].strip(),
        scopes=scopes,
        label=values.get("label", "").strip(),
        days=int(days),
        actor=actor(request),
    )
    return text


@page(may=Act.ADMINISTER, methods=("POST",))
def revoke(request: PersonRequest, token_id: UUID) -> HttpResponse:
    forms.read(request.POST, forms.ALWAYS)
    service.revoke(token_id=token_id, actor=actor(request))
    messages.success(request, "Revoked. Requests with this token are refused from now on.")
    return see_other(reverse("review:tokens"))


def _show(request: PersonRequest, typed: forms.Typed, *, secret: str = "", status: int = 200) -> HttpResponse:
    context = {
        "tokens": ApiToken.objects.select_related("orchestrator").order_by("-created_at")[:MOST],
        "orchestrators": Orchestrator.objects.order_by("name").values_list("name", flat=True)[:MOST],
        "scopes": [(scope.value, SCOPES[scope]) for scope in Scope],
        "days": DAYS,
        "typed": typed,
        "secret": secret,
        "now": clock.now(),
    }
    return render_page(request, "tokens.html", context, here="tokens", status=status)


SCOPES = {
    Scope.CHECKPOINTS_WRITE: "post checkpoints and compute digests",
    Scope.HANDOFFS_READ: "read handoffs, bodies, sessions, refusals and tickets",
    Scope.HANDOFFS_DISPATCH: "dispatch, acknowledge, fail and cancel",
    Scope.AUDIT_READ: "read the audit trail",
    Scope.POLICY_READ: "read the policy",
}
