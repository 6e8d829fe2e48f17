"""Approval tickets: verify one, look one up, and the keys to verify them offline (contract §6)."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from checkpoints import signing
from checkpoints.api import bodies
from checkpoints.api.documents import VERIFY, ref
from checkpoints.api.endpoint import Endpoint, PublicEndpoint, answer, plain
from checkpoints.api.openapi import described
from checkpoints.api.parameters import Parameters
from checkpoints.canonical import normalize_claimed
from checkpoints.errors import NotFound
from checkpoints.formats import is_other_id
from checkpoints.models import Scope
from checkpoints.services.tickets import examine, ticket_of


class TicketVerify(Endpoint):
    scope = Scope.HANDOFFS_READ

    @described(
        "verifyTicket",
        "Whether a ticket holds",
        {200: ref("Verification")},
        tag="tickets",
        scope=Scope.HANDOFFS_READ.value,
        body=VERIFY,
        problems=["signer-unavailable"],
    )
    def post(self, request: Request) -> HttpResponse:
        """Whether a ticket holds, for whom and for which content. The answer to a bad ticket is 200 `valid: false`."""
        given = bodies.members(plain(request), VERIFY)
        audience, digest = given.get("audience"), given.get("content_digest")
        return answer(
            examine(
                orchestrator=self.orchestrator,
                token=str(given["ticket"]),
                audience=audience if isinstance(audience, str) else None,
                content_digest=normalize_claimed(digest) if isinstance(digest, str) else None,
                actor=self.actor,
            )
        )


class TicketDetail(Endpoint):
    scope = Scope.HANDOFFS_READ

    @described(
        "getTicket",
        "One ticket by its reference",
        {200: ref("Ticket")},
        tag="tickets",
        scope=Scope.HANDOFFS_READ.value,
        problems=["not-found"],
    )
    def get(self, request: Request, reference: str) -> HttpResponse:
        """One ticket by its reference; never its text."""
        Parameters(plain(request))
        if not is_other_id(reference):
            raise NotFound("There is no ticket of this reference for this token.")
        return answer(ticket_of(orchestrator=self.orchestrator, reference=reference))


class Keys(PublicEndpoint):
    @described(
        "getKeys",
        "The keys to verify tickets offline",
        {200: ref("Keys")},
        tag="tickets",
        problems=["signer-unavailable"],
    )
    def get(self, request: Request) -> HttpResponse:
        """The public keys that ever signed a ticket (RFC 7517)."""
        return answer(signing.current().jwks(), headers={"Cache-Control": "public, max-age=300"})
