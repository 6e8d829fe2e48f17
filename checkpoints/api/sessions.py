"""A session and its recovery point (contract §4)."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from checkpoints.api import keyset
from checkpoints.api.documents import ref
from checkpoints.api.endpoint import Endpoint, answer, plain
from checkpoints.api.keyset import Order
from checkpoints.api.openapi import PAGING, described
from checkpoints.api.parameters import Parameters
from checkpoints.api.representation import resources
from checkpoints.errors import NotFound
from checkpoints.formats import is_name
from checkpoints.models import Handoff, Scope, Session
from checkpoints.services.recovery import recovery
from checkpoints.services.sessions import overview

IN_SEQUENCE = Order("handoff_sequence", descending=False, read=int)


class SessionDetail(Endpoint):
    scope = Scope.HANDOFFS_READ

    @described(
        "getSession",
        "A session with its handoffs",
        {200: ref("Session")},
        tag="sessions",
        scope=Scope.HANDOFFS_READ.value,
        problems=["not-found"],
        parameters=PAGING,
    )
    def get(self, request: Request, session_id: str) -> HttpResponse:
        """A session: its handoffs by sequence, gaps, delegated runs and state counts."""
        http = plain(request)
        parameters = Parameters(http, single=keyset.PARAMETERS)
        session = (
            Session.objects.filter(orchestrator=self.orchestrator, session_id=session_id).first()
            if is_name(session_id)
            else None
        )
        found = overview(session=session) if session else None
        if session is None or found is None or not found.state_counts:
            raise _unknown()
        rows = Handoff.objects.filter(session=session).with_names()
        page = keyset.page(http, parameters, rows, IN_SEQUENCE, size=keyset.LARGEST_PAGE)
        return answer(
            {
                "session_id": session_id,
                "handoffs": [*resources(page.rows)],
                "next": page.next,
                "gaps": [*found.gaps],
                "runs": [*found.runs],
                "state_counts": {**found.state_counts},
            }
        )


class SessionRecovery(Endpoint):
    scope = Scope.HANDOFFS_READ

    @described(
        "getRecovery",
        "What to do next, and from which snapshot",
        {200: ref("Recovery")},
        tag="sessions",
        scope=Scope.HANDOFFS_READ.value,
        problems=["not-found"],
    )
    def get(self, request: Request, session_id: str) -> HttpResponse:
        """What to do next in a session, and the snapshot that was last let through."""
        Parameters(plain(request))
        if not is_name(session_id):
            raise _unknown()
        return answer(recovery(orchestrator=self.orchestrator, session_id=session_id))


def _unknown() -> NotFound:
    return NotFound("There is no session of this name for this token.")
