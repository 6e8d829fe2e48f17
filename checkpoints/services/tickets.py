"""Approval tickets as anybody who holds one may ask about them (contract §5, §6). Nothing here changes one."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from checkpoints import signing
from checkpoints.errors import NotFound
from checkpoints.models import Orchestrator, Ticket
from checkpoints.services import audit
from checkpoints.services.clock import now
from checkpoints.tickets import Verification, verify
from checkpoints.types import Actor, JSONObject, rfc3339

FORGED = frozenset({"ticket-algorithm", "ticket-type", "ticket-key-unknown", "ticket-signature"})


def examine(
    *,
    orchestrator: Orchestrator,
    token: str,
    audience: str | None,
    content_digest: str | None,
    actor: Actor,
) -> JSONObject:
    """What contract §5 answers about a ticket. A forged one is recorded. Raises Unavailable without a signer."""
    at = now()
    found = verify(
        token,
        jwks=signing.current().jwks(),
        now=int(at.timestamp()),
        audience=audience,
        content_digest=content_digest,
    )
    row = _row(orchestrator, found)
    problems = list(found.problems)
    if found.claims is not None and row is None:
        problems.append("ticket-unknown")
    if row is not None and row.revoked_at is not None:
        problems.append("ticket-revoked")
    if FORGED & set(problems):
        _record_forgery(orchestrator, problems, actor)
    return {
        "valid": not problems,
        "problems": [*problems],
        "claims": found.claims,
        "state": state_of(ticket=row, at=at) if row else "unknown",
    }


def ticket_of(*, orchestrator: Orchestrator, reference: str) -> JSONObject:
    """One ticket by its reference. Missing and foreign look the same: NotFound."""
    ticket = (
        Ticket.objects.select_related("handoff")
        .filter(orchestrator=orchestrator, reference=reference)
        .first()
    )
    if ticket is None:
        raise NotFound("There is no ticket of this reference for this token.")
    return {
        "reference": ticket.reference,
        "state": state_of(ticket=ticket, at=now()),
        "checkpoint_id": ticket.handoff.checkpoint_id,
        "revision": ticket.revision,
        "content_digest": ticket.content_digest,
        "audience": ticket.audience,
        "issued_at": rfc3339(ticket.issued_at),
        "expires_at": rfc3339(ticket.expires_at),
        "redeemed_at": rfc3339(ticket.redeemed_at) if ticket.redeemed_at else None,
        "approvers": ticket.approvers,
    }


def state_of(*, ticket: Ticket, at: datetime) -> str:
    """issued, redeemed, revoked or expired. A redeemed ticket stays redeemed."""
    if ticket.revoked_at is not None:
        return "revoked"
    if ticket.redeemed_at is not None:
        return "redeemed"
    return "expired" if at >= ticket.expires_at else "issued"


def _row(orchestrator: Orchestrator, found: Verification) -> Ticket | None:
    """The row of signed claims: a `jti` that we signed is a UUID of ours."""
    if found.claims is None:
        return None
    return Ticket.objects.filter(orchestrator=orchestrator, jti=str(found.claims.get("jti"))).first()


def _record_forgery(orchestrator: Orchestrator, problems: list[str], actor: Actor) -> None:
    with transaction.atomic(durable=True):
        audit.record(
            audit.Entry(
                action="ticket.disproved",
                actor=actor,
                subject=("orchestrator", orchestrator.name),
                at=now(),
                after={"problems": [*problems]},
            )
        )
