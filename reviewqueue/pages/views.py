"""`/queue/views/`: lists of the queue that somebody gave a name."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.urls import reverse

from checkpoints.errors import ReviewQueueError
from reviewqueue.models import Role
from reviewqueue.pages import addressing, forms, listing
from reviewqueue.pages.acts import see_other
from reviewqueue.pages.shell import PersonRequest, actor, page, render_page
from reviewqueue.services import saving
from reviewqueue.services.access import Act

FIELDS = forms.ALWAYS | {"name", "query", "shared"}


@page(may=Act.SEE_QUEUE, methods=("GET", "POST"))
def views(request: PersonRequest) -> HttpResponse:
    if request.method != "POST":
        return _show(request, forms.Typed())
    try:
        values = forms.read(request.POST, FIELDS)
        query = canonical(values.get("query", ""))
        saving.save_view(
            owner=request.user,
            name=values.get("name", ""),
            query=query,
            shared=bool(values.get("shared")),
            actor=actor(request),
        )
    except ReviewQueueError as error:
        return _show(request, forms.typed(request.POST, error), problem=error, status=error.status)
    messages.success(request, f"Saved as “{' '.join(values.get('name', '').split())}”.")
    return see_other(listing.link(reverse("review:queue"), {}) + (f"?{query}" if query else ""))


@page(may=Act.SEE_QUEUE, methods=("POST",))
def remove(request: PersonRequest, view_id: UUID) -> HttpResponse:
    forms.read(request.POST, forms.ALWAYS)
    name = saving.remove_view(view_id=view_id, user=request.user, actor=actor(request))
    messages.success(request, f"“{name}” is removed.")
    return see_other(reverse("review:views"))


def canonical(query: str) -> str:
    """The filters of an address of the queue, without cursors. Raises InvalidInput for what the queue refuses."""
    given, _ = addressing.read_address(QueryDict(query))
    addressing.read_filters(given)
    return listing.link("", {k: v for k, v in given.items() if k not in listing.CURSORS}).removeprefix("?")


def _show(
    request: PersonRequest, typed: forms.Typed, *, problem: ReviewQueueError | None = None, status: int = 200
) -> HttpResponse:
    rows = [
        {
            "view": view,
            "yours": view.owner_id == request.user.pk,
            "removable": _removable(request, view.owner_id),
        }
        for view in saving.visible(request.user)
    ]
    context = {"rows": rows, "typed": typed, "problem": problem}
    return render_page(request, "views.html", context, here="queue", status=status)


def _removable(request: PersonRequest, owner: int) -> bool:
    return owner == request.user.pk or request.user.role == Role.MANAGER
