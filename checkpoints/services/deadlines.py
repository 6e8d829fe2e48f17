"""Deadlines count when somebody looks, not only when the sweep comes by."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from checkpoints.faults import fault
from checkpoints.models import Handoff
from checkpoints.services.attempts import end_overdue_attempt
from checkpoints.services.expiry import expire_review
from checkpoints.services.transition import lock
from checkpoints.types import State


def settle(*, handoff: Handoff, at: datetime) -> bool:
    """Do now what the sweep would do to a handoff read at `at` (the database's time). True: read it again."""
    if handoff.state == State.DISPATCHED.value and handoff.acknowledge_by and at >= handoff.acknowledge_by:
        with transaction.atomic(durable=True):
            locked, locked_at = lock(handoff_id=handoff.pk)
            end_overdue_attempt(handoff=locked, at=locked_at)
            fault("settle.before_commit")
        fault("settle.after_commit")
        return True
    if handoff.state == State.FLAGGED.value and handoff.review_deadline and at >= handoff.review_deadline:
        expire_review(handoff_id=handoff.pk)
        return True
    return False
