"""Claims: who is looking at an item. Ten minutes, extended by activity, visible to all."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from checkpoints.errors import ClaimedByAnother, InvalidInput, ProblemError
from checkpoints.faults import fault
from checkpoints.models import AWAITING_PERSON, Handoff
from checkpoints.services import audit
from checkpoints.services.attempts import not_possible
from checkpoints.services.policy import active
from checkpoints.services.transition import announce, facts, lock
from checkpoints.types import Actor
from reviewqueue.models import Claim, User
from reviewqueue.services.access import Act, may, require


def actor_of(user: User, *, request_id: str | None = None, trace_id: str | None = None) -> Actor:
    """The person as the audit trail names them."""
    return Actor(kind="person", id=user.public_id, label=user.label, request_id=request_id, trace_id=trace_id)


def claim(*, handoff_id: UUID, reviewer: User, reason: str = "", request: Actor | None = None) -> Claim:
    """Take an item that waits for a person. Another's live claim is taken over only with a reason.

    Raises ClaimedByAnother (409, names the holder), IllegalTransition (409) where nothing waits, NotAllowed.
    """
    require(reviewer, Act.CLAIM)
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        if handoff.state not in AWAITING_PERSON and handoff.state != "rejected":
            raise not_possible(handoff, "claimed")
        held = live_claim(handoff=handoff, at=at)
        taken_over = held is not None and held.holder_id != reviewer.pk
        if held and taken_over and not reason.strip():
            raise ClaimedByAnother(
                f"{held.holder.label} is working on this. Give a reason to take it over.",
                extra={"holder": held.holder.label},
                errors=[ProblemError("reason", "reason-required", "Say why you take it over.")],
            )
        row, _ = Claim.objects.update_or_create(
            handoff=handoff,
            defaults={
                "holder": reviewer,
                "claimed_at": held.claimed_at if held and not taken_over else at,
                "expires_at": at + timedelta(seconds=active().compiled.claim_seconds),
            },
        )
        if held is None or taken_over:
            audit.record(
                audit.Entry(
                    action="handoff.claimed",
                    actor=request or actor_of(reviewer),
                    subject=("handoff", str(handoff.pk)),
                    at=at,
                    reason=reason.strip() or None,
                    before={"holder": held.holder.public_id} if held else None,
                    after={**facts(handoff), "holder": reviewer.public_id},
                    policy_version=handoff.policy_version,
                )
            )
            announce(handoff_ids=[handoff.pk])
        fault("claim.before_commit")
    fault("claim.after_commit")
    return row


def release(*, handoff_id: UUID, reviewer: User, request: Actor | None = None) -> None:
    """Give one's own claim back. Releasing what one does not hold changes nothing."""
    require(reviewer, Act.CLAIM)
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        removed, _ = Claim.objects.filter(handoff=handoff, holder=reviewer).delete()
        if removed:
            audit.record(
                audit.Entry(
                    action="handoff.released",
                    actor=request or actor_of(reviewer),
                    subject=("handoff", str(handoff.pk)),
                    at=at,
                    before={"holder": reviewer.public_id},
                    policy_version=handoff.policy_version,
                )
            )
            announce(handoff_ids=[handoff.pk])
        fault("release.before_commit")
    fault("release.after_commit")


def reassign(
    *, handoff_id: UUID, by: User, to: User, reason: str = "", request: Actor | None = None
) -> Claim | None:
    """Give an item to another person, whoever holds it now. None where `to` holds it already.

    Raises InvalidInput (422) for somebody who cannot claim, IllegalTransition (409) where nothing waits, NotAllowed.
    """
    require(by, Act.CLAIM)
    if not may(to, Act.CLAIM):
        text = f"{to.label} cannot decide, so a handoff cannot be given to them."
        raise InvalidInput(text, slug="invalid-form", errors=[ProblemError("to", "unfit", text)])
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        if handoff.state not in AWAITING_PERSON:
            raise not_possible(handoff, "reassigned")
        held = live_claim(handoff=handoff, at=at)
        if held and held.holder_id == to.pk:
            return None
        until = at + timedelta(seconds=active().compiled.claim_seconds)
        row, _ = Claim.objects.update_or_create(
            handoff=handoff, defaults={"holder": to, "claimed_at": at, "expires_at": until}
        )
        audit.record(
            audit.Entry(
                action="handoff.reassigned",
                actor=request or actor_of(by),
                subject=("handoff", str(handoff.pk)),
                at=at,
                reason=reason.strip() or None,
                before={"holder": held.holder.public_id} if held else None,
                after={**facts(handoff), "holder": to.public_id},
                policy_version=handoff.policy_version,
            )
        )
        announce(handoff_ids=[handoff.pk])
    return row


def touch(*, handoff_id: UUID, reviewer: User) -> None:
    """Activity of the holder extends a live claim; anybody else's changes nothing. An expired one stays expired."""
    longer = timedelta(seconds=active().compiled.claim_seconds)
    Claim.objects.filter(handoff_id=handoff_id, holder=reviewer, expires_at__gt=Now()).update(
        expires_at=Now() + longer
    )


def live_claim(*, handoff: Handoff, at: datetime) -> Claim | None:
    """The claim that counts at `at`; an expired one is no claim."""
    return Claim.objects.select_related("holder").filter(handoff=handoff, expires_at__gt=at).first()


def refuse_if_claimed(*, handoff: Handoff, reviewer: User, at: datetime) -> None:
    """Raises ClaimedByAnother where somebody else's claim is live."""
    held = live_claim(handoff=handoff, at=at)
    if held and held.holder_id != reviewer.pk:
        raise ClaimedByAnother(
            f"{held.holder.label} is working on this. Take it over with a reason, or wait.",
            extra={"holder": held.holder.label},
        )


def reason_problem(text: str) -> InvalidInput:
    return InvalidInput(text, slug="reason-required", errors=[ProblemError("reason", "required", text)])
