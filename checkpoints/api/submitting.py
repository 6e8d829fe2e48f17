"""POST /api/v1/checkpoints: store first, judge later (contract §3)."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from rest_framework.request import Request

from checkpoints import doorbell
from checkpoints.api import bodies
from checkpoints.api.endpoint import Endpoint, plain
from checkpoints.api.holding import hold
from checkpoints.api.parameters import wait_seconds
from checkpoints.api.representation import address, resource, resource_answer
from checkpoints.models import Handoff, Scope
from checkpoints.services.submission import submit


class Checkpoints(Endpoint):
    scope = Scope.CHECKPOINTS_WRITE

    def post(self, request: Request) -> HttpResponse:
        """Store a checkpoint before its handoff is dispatched. The answer comes after the commit."""
        http = plain(request)
        body = bodies.read(http, limit=settings.BODY_BYTES)
        admitted = submit(orchestrator=self.orchestrator, body=body, limits=bodies.limits(), actor=self.actor)
        if admitted.created:
            doorbell.ring()
        held = hold(
            lambda: Handoff.objects.with_names().get(pk=admitted.handoff_id),
            handoff_id=admitted.handoff_id,
            until="verdict",
            seconds=wait_seconds(http),
        )
        headers = held.headers | {"Location": address(held.handoff)}
        if not admitted.created:
            headers["Idempotency-Replayed"] = "true"
        return resource_answer(
            resource(held.handoff), status=201 if admitted.created else 200, headers=headers
        )
