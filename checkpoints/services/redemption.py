"""Redeeming a ticket at dispatch. It may re-sign an approval; it can never make one."""

from __future__ import annotations

from datetime import datetime, timedelta

from checkpoints import signing
from checkpoints.errors import Conflict
from checkpoints.models import Handoff, Ticket
from checkpoints.services import audit
from checkpoints.tickets import renewed, verify
from checkpoints.types import Actor, CheckPolicy, JSONObject


class TicketTooOld(Conflict):
    """The approval is older than the policy lets it be re-signed: a person must look again."""

    slug = "ticket-expired"


class TicketMismatch(Conflict):
    """The stored ticket does not speak of the stored content: never dispatch."""

    slug = "ticket-content-mismatch"


def redeem(
    *, handoff: Handoff, attempt: int, content_digest: str, policy: CheckPolicy, actor: Actor, at: datetime
) -> Ticket:
    """The ticket of a locked handoff, valid for `attempt`. Raises TicketTooOld, TicketMismatch, Unavailable."""
    signer = signing.current()
    ticket = Ticket.objects.select_for_update().get(
        orchestrator_id=handoff.orchestrator_id, reference=handoff.approval_ticket_reference
    )
    claims = _trusted_claims(ticket, handoff, content_digest, signer)
    first = ticket.redeemed_at is None
    if first and at >= ticket.expires_at:
        age = at - ticket.decided_at
        if age >= timedelta(seconds=policy.approval_reissue_seconds):
            raise TicketTooOld(
                f"Approval {ticket.reference} was given {int(age.total_seconds())} seconds ago and can no longer "
                "be renewed. The handoff waits in the review queue again."
            )
    if at >= ticket.expires_at or ticket.attempt != attempt:
        claims = renewed(
            claims,
            issued_at=int(at.timestamp()),
            valid_seconds=policy.approval_valid_seconds,
            attempt=attempt,
        )
        ticket.token = signer.sign(claims)
        ticket.attempt = attempt
        ticket.issued_at = at
        ticket.expires_at = at + timedelta(seconds=policy.approval_valid_seconds)
    if first:
        ticket.redeemed_at = at
    ticket.save(update_fields=["token", "attempt", "issued_at", "expires_at", "redeemed_at"])
    audit.record(
        audit.Entry(
            action="ticket.redeemed" if first else "ticket.renewed",
            actor=actor,
            subject=("handoff", str(handoff.pk)),
            at=at,
            after={"reference": ticket.reference, "attempt": attempt, "content_digest": content_digest},
            policy_version=handoff.policy_version,
        )
    )
    return ticket


def _trusted_claims(
    ticket: Ticket, handoff: Handoff, content_digest: str, signer: signing.Signer
) -> JSONObject:
    """The signed claims, checked against row and content: a row written by hand carries no signature."""
    found = verify(
        ticket.token, jwks=signer.jwks(), now=int(ticket.issued_at.timestamp()), content_digest=content_digest
    )
    claims = found.claims or {}
    agrees = (
        claims.get("jti") == str(ticket.jti)
        and claims.get("ref") == ticket.reference
        and claims.get("sub") == handoff.checkpoint_id
        and claims.get("revision") == handoff.revision == ticket.revision
    )
    if not found.valid or not agrees or ticket.revoked_at is not None:
        raise TicketMismatch(
            f"Ticket {ticket.reference} does not match what is stored ({', '.join(found.problems) or 'claims'}). "
            "Nothing was sent; the handoff waits in the review queue again."
        )
    return claims
