"""Reading handoffs: one, its bytes, and the list (contract §3)."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from checkpoints.api import keyset
from checkpoints.api.documents import ATTEMPT_NUMBER, OBJECT, one_of, page_of, ref
from checkpoints.api.endpoint import Endpoint, answer, plain
from checkpoints.api.holding import UNTIL, Held, hold
from checkpoints.api.keyset import Order
from checkpoints.api.openapi import PAGING, WAIT, described, header, query
from checkpoints.api.parameters import Parameters, wait_seconds
from checkpoints.api.representation import one, resource, resource_answer, resources
from checkpoints.errors import NotFound
from checkpoints.formats import is_name
from checkpoints.models import CheckpointBody, Handoff, Orchestrator, Scope
from checkpoints.services.bodies import body_of
from checkpoints.types import Severity, State

ORDERS = {
    order.name: order
    for descending in (False, True)
    for order in (
        Order("received_at", descending),
        Order("handoff_sequence", descending, read=int),
        Order("review_deadline", descending, nullable=True),
    )
}
STATES = tuple(state.value for state in State)
SEVERITIES = {severity.value: severity.rank for severity in Severity}
ROLES = ("target_role", "agent_role")


def own_handoff(orchestrator: Orchestrator, checkpoint_id: str) -> Handoff:
    """An orchestrator's handoff. Missing, foreign and impossible ids look the same: NotFound."""
    found = one(orchestrator=orchestrator, checkpoint_id=checkpoint_id) if is_name(checkpoint_id) else None
    if found is None:
        raise unknown_handoff()
    return found


def unknown_handoff() -> NotFound:
    """The one answer for what does not exist and for what is another orchestrator's."""
    return NotFound("There is no handoff with this checkpoint_id for this token.")


class HandoffDetail(Endpoint):
    scope = Scope.HANDOFFS_READ

    @described(
        "getHandoff",
        "One handoff",
        {200: ref("Handoff"), 304: None},
        tag="handoffs",
        scope=Scope.HANDOFFS_READ.value,
        problems=["not-found"],
        parameters=[
            query("until", "With `Prefer: wait=N`: what to wait for.", one_of([*UNTIL])),
            WAIT,
            header("If-None-Match", "The ETag that the caller holds."),
        ],
    )
    def get(self, request: Request, checkpoint_id: str) -> HttpResponse:
        """The handoff as it is now, or as soon as it is where `until` waits for it. Reading never consumes."""
        http = plain(request)
        until = Parameters(http, single=("until",)).choice("until", tuple(UNTIL), "verdict")
        held = Held(own_handoff(self.orchestrator, checkpoint_id))
        if (seconds := wait_seconds(http)) is not None:
            held = hold(
                lambda: own_handoff(self.orchestrator, checkpoint_id),
                handoff_id=held.handoff.pk,
                until=until,
                seconds=seconds,
            )
        response = resource_answer(resource(held.handoff), headers=held.headers)
        return _unless_known(response, http.META.get("HTTP_IF_NONE_MATCH", ""))


class HandoffBody(Endpoint):
    scope = Scope.HANDOFFS_READ
    produces: ClassVar[tuple[str, ...]] = ()

    @described(
        "getHandoffBody",
        "The exact bytes of a revision",
        {200: OBJECT},
        tag="handoffs",
        scope=Scope.HANDOFFS_READ.value,
        problems=["not-found"],
        parameters=[query("revision", "Which one; without it the current.", ATTEMPT_NUMBER)],
    )
    def get(self, request: Request, checkpoint_id: str) -> HttpResponse:
        """The exact bytes of a revision: the current one, or `revision`."""
        parameters = Parameters(plain(request), single=("revision",))
        handoff = own_handoff(self.orchestrator, checkpoint_id)
        revision = parameters.integer("revision", default=handoff.revision, least=1, most=2**31 - 1)
        try:
            body = body_of(handoff=handoff, revision=revision)
        except CheckpointBody.DoesNotExist:
            raise NotFound(
                f"Revision {revision} of this handoff does not exist, or its bytes were deleted after their period."
            ) from None
        return file_answer(
            body, name=f"{handoff.checkpoint_id}-{revision}.json", content_type="application/json"
        )


class HandoffList(Endpoint):
    scope = Scope.HANDOFFS_READ

    @described(
        "listHandoffs",
        "Handoffs in pages",
        {200: page_of("Handoff")},
        tag="handoffs",
        scope=Scope.HANDOFFS_READ.value,
        parameters=[
            query("state", "In one of these states.", one_of([*STATES]), many=True),
            query(
                "severity",
                "Whose worst finding has one of these severities.",
                one_of([*SEVERITIES]),
                many=True,
            ),
            query("finding", "With a finding of one of these codes.", many=True),
            query("target_role", "Handed to one of these roles.", many=True),
            query("agent_role", "Handed over by one of these roles.", many=True),
            query("session_id", "Of this session."),
            query("task_id", "Of this task."),
            query("q", "Whose title or ids contain this text."),
            query("ordering", "The order; a minus turns it round.", one_of([*ORDERS])),
            *PAGING,
        ],
    )
    def get(self, request: Request) -> HttpResponse:
        """Handoffs of this orchestrator, filtered, in keyset pages."""
        http = plain(request)
        parameters = Parameters(
            http,
            single=("session_id", "task_id", "q", "ordering", *keyset.PARAMETERS),
            repeatable=("state", "severity", "finding", *ROLES),
        )
        order = ORDERS[parameters.choice("ordering", tuple(ORDERS), "-received_at")]
        rows = _filtered(Handoff.objects.of(self.orchestrator).with_names(), parameters)
        found = keyset.page(http, parameters, rows, order)
        return answer(keyset.listing([*resources(found.rows)], found))


def _filtered(rows: QuerySet[Handoff], parameters: Parameters) -> QuerySet[Handoff]:
    conditions: dict[str, Any] = {}
    if states := parameters.choices("state", STATES):
        conditions["state__in"] = states
    if severities := parameters.choices("severity", tuple(SEVERITIES)):
        conditions["severity__in"] = [SEVERITIES[name] for name in severities]
    if codes := parameters.texts("finding"):
        conditions["finding_codes__overlap"] = codes
    for role in ROLES:
        if names := parameters.texts(role):
            conditions[f"{role}__in"] = names
    if (session := parameters.text("session_id")) is not None:
        conditions["session__session_id"] = session
    if (task := parameters.text("task_id")) is not None:
        conditions["task_id"] = task
    rows = rows.filter(**conditions)
    if text := parameters.text("q"):
        rows = rows.filter(
            Q(title__icontains=text)
            | Q(checkpoint_id__icontains=text)
            | Q(session__session_id__icontains=text)
            | Q(task_id__icontains=text)
        )
    return rows


def file_answer(body: bytes, *, name: str, content_type: str) -> HttpResponse:
    """Bytes that a browser saves and never interprets."""
    return HttpResponse(
        body,
        content_type=content_type,
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "Cache-Control": "private, no-store",
            "Content-Security-Policy": "default-src 'none'; sandbox",
        },
    )


def _unless_known(response: HttpResponse, if_none_match: str) -> HttpResponse:
    """304 without a body where the caller holds this very representation."""
    held = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    if "*" not in held and response.headers["ETag"] not in held:
        return response
    unchanged = HttpResponse(status=304)
    for name in ("ETag", "Cache-Control", "Vary", "Preference-Applied", "Retry-After"):
        if name in response.headers:
            unchanged.headers[name] = response.headers[name]
    del unchanged.headers["Content-Type"]
    return unchanged
