"""What was refused and kept (contract §2.1)."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from checkpoints.api import keyset
from checkpoints.api.documents import page_of
from checkpoints.api.endpoint import Endpoint, answer, plain
from checkpoints.api.handoffs import file_answer
from checkpoints.api.keyset import Order
from checkpoints.api.openapi import PAGING, described
from checkpoints.api.parameters import Parameters
from checkpoints.errors import NotFound
from checkpoints.models import Refusal, RefusalBody, Scope
from checkpoints.types import JSONObject, rfc3339

NEWEST_FIRST = Order("at", descending=True)


class RefusalList(Endpoint):
    scope = Scope.HANDOFFS_READ

    @described(
        "listRefusals",
        "What was refused and is kept",
        {200: page_of("Refusal")},
        tag="checkpoints",
        scope=Scope.HANDOFFS_READ.value,
        parameters=PAGING,
    )
    def get(self, request: Request) -> HttpResponse:
        """The refused bodies that are still kept, newest first."""
        http = plain(request)
        parameters = Parameters(http, single=keyset.PARAMETERS)
        rows = Refusal.objects.filter(orchestrator=self.orchestrator, body__isnull=False)
        found = keyset.page(http, parameters, rows, NEWEST_FIRST)
        return answer(keyset.listing([_shown(row) for row in found.rows], found))


class RefusalBytes(Endpoint):
    scope = Scope.HANDOFFS_READ
    produces: ClassVar[tuple[str, ...]] = ()

    @described(
        "getRefusalBody",
        "The exact bytes that were refused",
        {200: {"type": "string", "format": "binary"}},
        tag="checkpoints",
        scope=Scope.HANDOFFS_READ.value,
        problems=["not-found"],
        media_type="application/octet-stream",
    )
    def get(self, request: Request, refusal_id: UUID) -> HttpResponse:
        """The exact bytes that were refused."""
        Parameters(plain(request))
        content = (
            RefusalBody.objects.filter(refusal_id=refusal_id, refusal__orchestrator=self.orchestrator)
            .values_list("content", flat=True)
            .first()
        )
        if content is None:
            raise NotFound("There is no such refusal for this token, or its bytes are no longer kept.")
        return file_answer(bytes(content), name=f"{refusal_id}.bin", content_type="application/octet-stream")


def _shown(refusal: Refusal) -> JSONObject:
    return {
        "id": str(refusal.pk),
        "at": rfc3339(refusal.at),
        "status": refusal.status,
        "type": refusal.type,
        "errors": refusal.errors,
        "session_id": refusal.session_id,
        "checkpoint_id": refusal.checkpoint_id,
        "body_digest": refusal.body_digest,
        "size": refusal.size,
        "expires_at": rfc3339(refusal.expires_at),
    }
