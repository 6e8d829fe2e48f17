"""Deadlines that nobody kept. Time may escalate, or abort where the policy says so; it never approves."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from checkpoints.faults import fault
from checkpoints.handoffs.machine import Event
from checkpoints.models import Action, Decision, Handoff, RefusalBody
from checkpoints.services.attempts import SWEEPER, close
from checkpoints.services.clock import now
from checkpoints.services.policy import rules_of
from checkpoints.services.transition import announce, lock, move
from checkpoints.types import CheckPolicy, Risk, State


def expire_reviews(*, limit: int = 500) -> int:
    """Escalate or abort what waited past its review deadline. Safe to run twice at once. Returns how many."""
    due = Handoff.objects.filter(state=State.FLAGGED, review_deadline__lte=now()).order_by("review_deadline")
    return sum(
        expire_review(handoff_id=handoff_id) for handoff_id in list(due.values_list("pk", flat=True)[:limit])
    )


def expire_review(*, handoff_id: UUID) -> bool:
    """Escalate or abort one handoff whose review deadline is over. False where it is not."""
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        if (
            handoff.state != State.FLAGGED.value
            or not handoff.review_deadline
            or at < handoff.review_deadline
        ):
            return False
        policy = rules_of(version=handoff.policy_version)
        reason = "Nobody decided before the review deadline."
        if policy.review_on_expiry == "abort":
            _record(handoff, Action.ABORT, reason, at)
            close(handoff=handoff, actor=SWEEPER, at=at, reason=reason)
            handoff.decided_at = at
            event = Event.ABORT
        else:
            _record(handoff, Action.ESCALATE, reason, at)
            handoff.review_deadline = at + _patience(handoff, policy)
            event = Event.ESCALATE
        move(handoff=handoff, event=event, actor=SWEEPER, at=at, reason=reason)
        announce(handoff_ids=[handoff.pk])
        fault("expiry.before_commit")
    fault("expiry.after_commit")
    return True


def _patience(handoff: Handoff, policy: CheckPolicy) -> timedelta:
    risk = Risk(handoff.risk or policy.risk_default)
    return timedelta(seconds=policy.review_deadline_seconds[risk])


def _record(handoff: Handoff, action: Action, reason: str, at: datetime) -> None:
    Decision.objects.create(
        handoff=handoff,
        round=handoff.round,
        revision=handoff.revision,
        content_digest=handoff.content_digest,
        action=action.value,
        actor_kind=SWEEPER.kind,
        actor_id=SWEEPER.id,
        actor_label=SWEEPER.label,
        role="system",
        reason=reason,
        at=at,
        policy_version=handoff.policy_version,
    )


def delete_expired_refusals() -> int:
    """Delete quarantined bytes after their thirty days; the facts of the refusal stay. Returns how many."""
    deleted, _ = RefusalBody.objects.filter(refusal__expires_at__lte=now()).delete()
    return deleted
