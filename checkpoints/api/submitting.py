"""Posting checkpoints, one or many: store first, judge later (contract §3)."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from rest_framework.request import Request

from checkpoints import doorbell
from checkpoints.api import bodies
from checkpoints.api.documents import BATCH, CHECKPOINT, ref
from checkpoints.api.endpoint import Endpoint, answer, plain
from checkpoints.api.holding import Held, hold
from checkpoints.api.openapi import WAIT, described
from checkpoints.api.parameters import wait_seconds
from checkpoints.api.problems import of_error
from checkpoints.api.representation import address, resource, resource_answer, resources
from checkpoints.canonical import item_slices, parse
from checkpoints.errors import Conflict, ProblemError, Refused
from checkpoints.models import Handoff, Scope
from checkpoints.services.admission import Admitted
from checkpoints.services.limits import refuse_excess
from checkpoints.services.submission import keep_refused, submit, submit_many
from checkpoints.types import JSONObject, JSONValue, Limits

MOST_ITEMS: Final = 100
# Deep enough that an item which is too deep is refused alone, and no deeper than every JSON reader goes.
DEEPEST_BATCH: Final = 512


class Checkpoints(Endpoint):
    scope = Scope.CHECKPOINTS_WRITE

    @described(
        "submitCheckpoint",
        "Post a checkpoint",
        {200: ref("Handoff"), 201: ref("Handoff")},
        tag="checkpoints",
        scope=Scope.CHECKPOINTS_WRITE.value,
        body=CHECKPOINT,
        parameters=[WAIT],
        problems=[
            "identity-invalid", "identity-mismatch", "unknown-format", "checkpoint-conflict", "sequence-conflict",
            "rate-limited", "queue-quota",
        ],
    )  # fmt: skip
    def post(self, request: Request) -> HttpResponse:
        """Store a checkpoint before its handoff is dispatched. The answer comes after the commit."""
        http = plain(request)
        refuse_excess(orchestrator=self.orchestrator)
        body = bodies.read(http, limit=settings.BODY_BYTES)
        admitted = submit(orchestrator=self.orchestrator, body=body, limits=bodies.limits(), actor=self.actor)
        if admitted.created:
            doorbell.ring()
        seconds = wait_seconds(http)
        if seconds is None:
            held = Held(admitted.handoff or _load(admitted.handoff_id))
        else:
            held = hold(
                lambda: _load(admitted.handoff_id),
                handoff_id=admitted.handoff_id,
                until="verdict",
                seconds=seconds,
            )
        headers = held.headers | {"Location": address(held.handoff)}
        if not admitted.created:
            headers["Idempotency-Replayed"] = "true"
        return resource_answer(
            resource(held.handoff), status=201 if admitted.created else 200, headers=headers
        )


def _load(handoff_id: UUID) -> Handoff:
    return Handoff.objects.with_names().get(pk=handoff_id)


class CheckpointBatch(Endpoint):
    scope = Scope.CHECKPOINTS_WRITE

    @described(
        "submitBatch",
        "Post many checkpoints",
        {200: ref("BatchAnswer")},
        tag="checkpoints",
        scope=Scope.CHECKPOINTS_WRITE.value,
        body=BATCH,
        problems=["rate-limited", "queue-quota"],
    )
    def post(self, request: Request) -> HttpResponse:
        """Store up to 100 checkpoints, each answered on its own, in order."""
        http = plain(request)
        refuse_excess(orchestrator=self.orchestrator)
        body = bodies.read(http, limit=settings.BATCH_BYTES)
        try:
            items = _items(body)
        except Refused as error:
            keep_refused(orchestrator=self.orchestrator, body=body, error=error, actor=self.actor)
            raise
        results = submit_many(
            orchestrator=self.orchestrator, bodies=items, limits=bodies.limits(), actor=self.actor
        )
        if any(isinstance(result, Admitted) and result.created for result in results):
            doorbell.ring()
        admitted = [result for result in results if isinstance(result, Admitted)]
        rows = [result.handoff for result in admitted if result.handoff is not None]
        repeated = {result.handoff_id for result in admitted} - {row.pk for row in rows}
        if repeated:
            rows += Handoff.objects.with_names().filter(pk__in=repeated)
        shown = {row.pk: item for row, item in zip(rows, resources(rows), strict=True)}
        answers: list[JSONValue] = []
        for result in results:
            if isinstance(result, Admitted):
                answers.append(
                    {"status": 201 if result.created else 200, "handoff": shown[result.handoff_id]}
                )
            else:
                answers.append(_refused(http, result))
        return answer({"results": answers})


def _items(body: bytes) -> list[bytes]:
    """The exact bytes of each item. Raises Refused for the whole request: bytes nobody can read alike, or no batch."""
    # Each item is judged by the limits of a single one; the body's size bounds how many values there are.
    value = parse(body, Limits(settings.BATCH_BYTES, DEEPEST_BATCH, settings.BATCH_BYTES))
    items = value.get("items")
    if set(value) != {"items"} or not isinstance(items, list) or not 1 <= len(items) <= MOST_ITEMS:
        detail = f'A batch is {{"items": […]}} with 1 to {MOST_ITEMS} checkpoints and no other member.'
        raise Refused(detail, slug="invalid-body", errors=[ProblemError("/items", "invalid-body", detail)])
    return item_slices(body)


def _refused(request: HttpRequest, error: Refused | Conflict) -> JSONObject:
    problem = of_error(request, error)
    return {"status": problem["status"], "problem": problem}
