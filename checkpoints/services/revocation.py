"""Voiding tickets: the content changed, the handoff ended, or an approval was taken back."""

from __future__ import annotations

from datetime import datetime

from checkpoints.models import Handoff, Ticket
from checkpoints.services import audit
from checkpoints.types import Actor


def revoke(*, handoff: Handoff, actor: Actor, at: datetime, reason: str | None = None) -> None:
    """Void the live tickets of a locked handoff: its content changed, or it ended."""
    live = Ticket.objects.filter(handoff=handoff, revoked_at__isnull=True)
    references = list(live.values_list("reference", flat=True))
    live.update(revoked_at=at)
    audit.record_many(
        [
            audit.Entry(
                action="ticket.revoked",
                actor=actor,
                subject=("handoff", str(handoff.pk)),
                at=at,
                reason=reason,
                after={"reference": reference},
                policy_version=handoff.policy_version,
            )
            for reference in references
        ]
    )
