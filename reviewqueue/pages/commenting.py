"""`POST /handoffs/{id}/comments/` and `…/{comment}/remove/`."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.urls import reverse

from reviewqueue.pages import acts, forms
from reviewqueue.pages.shell import PersonRequest, actor, page
from reviewqueue.services import commenting
from reviewqueue.services.access import Act

FIELDS = forms.ALWAYS | {"comment", "pointer"}


@page(may=Act.COMMENT, methods=("POST",))
def add(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    def act(posted: QueryDict) -> HttpResponse:
        values = forms.read(posted, FIELDS)
        row = commenting.comment(
            handoff_id=handoff_id,
            author=request.user,
            text=values.get("comment", ""),
            pointer=values.get("pointer", ""),
            request=actor(request),
        )
        return acts.see_other(f"{reverse('review:detail', args=[handoff_id])}#comment-{row.pk}")

    return acts.attempt(request, handoff_id, act)


@page(may=Act.COMMENT, methods=("POST",))
def remove(request: PersonRequest, handoff_id: UUID, comment_id: UUID) -> HttpResponse:
    forms.read(request.POST, forms.ALWAYS)
    commenting.remove(
        handoff_id=handoff_id, comment_id=comment_id, author=request.user, request=actor(request)
    )
    return acts.see_other(f"{reverse('review:detail', args=[handoff_id])}#comments")
