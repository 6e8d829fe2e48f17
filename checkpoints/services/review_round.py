"""Starting a review: approvals are counted anew and a deadline runs."""

from __future__ import annotations

from datetime import datetime, timedelta

from checkpoints.models import Handoff
from checkpoints.types import CheckPolicy, Risk


def begin(*, handoff: Handoff, policy: CheckPolicy, at: datetime) -> None:
    """A new round for a locked handoff that is about to wait for a person."""
    risk = Risk(handoff.risk or policy.risk_default)
    handoff.round += 1
    handoff.approvals_given = 0
    handoff.approvals_required = max(1, policy.approvals[risk])
    handoff.flagged_at = at
    handoff.review_deadline = at + timedelta(seconds=policy.review_deadline_seconds[risk])
    handoff.decided_at = None
    handoff.approval_ticket_reference = None  # an earlier round's approval speaks for nothing in this one
