"""The orchestrator's verbs on a handoff: dispatch, ack, fail, refuse, cancel (contract §4)."""

from __future__ import annotations

import re
from typing import ClassVar, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import extend_schema_view
from rest_framework.request import Request

from checkpoints.api import bodies
from checkpoints.api.documents import ACK, CANCEL, DISPATCH, FAIL, REFUSE, ref
from checkpoints.api.endpoint import Endpoint, answer, plain
from checkpoints.api.handoffs import unknown_handoff
from checkpoints.api.openapi import described, header
from checkpoints.api.parameters import invalid
from checkpoints.api.representation import resource, resource_answer
from checkpoints.canonical import normalize_claimed
from checkpoints.formats import is_name
from checkpoints.models import Handoff, Scope
from checkpoints.services import attempts
from checkpoints.services.dispatch import dispatch
from checkpoints.types import JSONObject

_KEY: Final = re.compile(r"[\x20-\x7e]{1,255}")


class Dispatch(Endpoint):
    scope = Scope.HANDOFFS_DISPATCH

    @described(
        "dispatchHandoff",
        "Ask for an attempt",
        {200: ref("Dispatched")},
        tag="dispatch",
        scope=Scope.HANDOFFS_DISPATCH.value,
        body=DISPATCH,
        parameters=[
            header("Idempotency-Key", "1 to 255 printable ASCII characters: the same key gets the same answer.")
        ],
        problems=[
            "not-found", "not-dispatchable", "attempt-in-flight", "attempt-superseded", "ticket-expired",
            "ticket-content-mismatch", "signer-unavailable",
        ],
    )  # fmt: skip
    def post(self, request: Request, checkpoint_id: str) -> HttpResponse:
        """Ask for an attempt before anything is sent. The answer is what the receiver gets."""
        http = plain(request)
        key = idempotency_key(http)
        bodies.members(http, DISPATCH, optional=True)
        if not is_name(checkpoint_id):
            raise unknown_handoff()
        return answer(
            dispatch(orchestrator=self.orchestrator, checkpoint_id=checkpoint_id, key=key, actor=self.actor)
        )


class Report(Endpoint):
    """A verb whose answer is the handoff as it stands afterwards."""

    scope = Scope.HANDOFFS_DISPATCH
    body: ClassVar[JSONObject]

    def perform(self, checkpoint_id: str, given: JSONObject) -> UUID:
        raise NotImplementedError

    def post(self, request: Request, checkpoint_id: str) -> HttpResponse:
        given = bodies.members(plain(request), self.body)
        if not is_name(checkpoint_id):
            raise unknown_handoff()
        handoff_id = self.perform(checkpoint_id, given)
        return resource_answer(resource(Handoff.objects.with_names().get(pk=handoff_id)))


@extend_schema_view(
    post=described(
        "acknowledgeHandoff",
        "The receiver took over",
        {200: ref("Handoff")},
        tag="dispatch",
        scope=Scope.HANDOFFS_DISPATCH.value,
        body=ACK,
        problems=[
            "not-found",
            "attempt-not-found",
            "attempt-superseded",
            "digest-mismatch",
            "invalid-transition",
        ],
    )
)
class Acknowledge(Report):
    """The receiver took over."""

    body = ACK

    def perform(self, checkpoint_id: str, given: JSONObject) -> UUID:
        digest = given.get("content_digest")
        return attempts.acknowledge(
            orchestrator=self.orchestrator,
            checkpoint_id=checkpoint_id,
            attempt=_number(given),
            content_digest=normalize_claimed(str(digest)) if digest is not None else None,
            receiver=_text(given, "receiver") or None,
            actor=self.actor,
        )


@extend_schema_view(
    post=described(
        "failHandoff",
        "The attempt was lost",
        {200: ref("Handoff")},
        tag="dispatch",
        scope=Scope.HANDOFFS_DISPATCH.value,
        body=FAIL,
        problems=["not-found", "attempt-not-found", "attempt-superseded", "invalid-transition"],
    )
)
class Fail(Report):
    """The attempt was lost; it uses a retry."""

    body = FAIL

    def perform(self, checkpoint_id: str, given: JSONObject) -> UUID:
        return attempts.fail(
            orchestrator=self.orchestrator,
            checkpoint_id=checkpoint_id,
            attempt=_number(given),
            kind=_text(given, "kind"),
            detail=_text(given, "detail"),
            actor=self.actor,
        )


@extend_schema_view(
    post=described(
        "refuseHandoff",
        "The receiver declined",
        {200: ref("Handoff")},
        tag="dispatch",
        scope=Scope.HANDOFFS_DISPATCH.value,
        body=REFUSE,
        problems=["not-found", "attempt-not-found", "attempt-superseded", "invalid-transition"],
    )
)
class Refuse(Report):
    """The receiver declined; a person looks again and no retry is used."""

    body = REFUSE

    def perform(self, checkpoint_id: str, given: JSONObject) -> UUID:
        return attempts.refuse(
            orchestrator=self.orchestrator,
            checkpoint_id=checkpoint_id,
            attempt=_number(given),
            reason=_text(given, "reason"),
            actor=self.actor,
        )


@extend_schema_view(
    post=described(
        "cancelHandoff",
        "The handoff is no longer wanted",
        {200: ref("Handoff")},
        tag="dispatch",
        scope=Scope.HANDOFFS_DISPATCH.value,
        body=CANCEL,
        problems=["not-found", "invalid-transition"],
    )
)
class Cancel(Report):
    """The sender no longer wants the handoff."""

    body = CANCEL

    def perform(self, checkpoint_id: str, given: JSONObject) -> UUID:
        return attempts.cancel(
            orchestrator=self.orchestrator,
            checkpoint_id=checkpoint_id,
            reason=_text(given, "reason"),
            actor=self.actor,
        )


def idempotency_key(request: HttpRequest) -> str | None:
    """The Idempotency-Key header. Raises InvalidInput (400) for one that is not 1 to 255 printable ASCII characters."""
    given: str | None = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if given is not None and not _KEY.fullmatch(given):
        raise invalid(
            "Idempotency-Key",
            "The Idempotency-Key must have 1 to 255 printable ASCII characters. Send another.",
        )
    return given


def _number(given: JSONObject) -> int:
    return int(str(given["attempt"]))


def _text(given: JSONObject, name: str) -> str:
    value = given.get(name)
    return value if isinstance(value, str) else ""
