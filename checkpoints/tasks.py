"""Celery tasks: each calls one service. Messages are doorbells; the rows say what is due."""

from __future__ import annotations

from functools import partial

import structlog
from celery import shared_task
from celery.exceptions import SoftTimeLimitExceeded
from django.db import connection

from checkpoints import doorbell
from checkpoints.checks import tokens
from checkpoints.services import attempts, expiry, returns, verification

log = structlog.get_logger("checkpoints.tasks")

DRAIN = "checkpoints.drain"


@shared_task(name=DRAIN, ignore_result=True)
def drain() -> None:
    """Judge what is due. Rung after ingest; safe to run any number of times at once."""
    doorbell.answered()
    verification.drain(count_tokens=tokens.load())


@shared_task(name="checkpoints.sweep", ignore_result=True)
def sweep() -> None:
    """Once a second: everything that a lost doorbell or a dead process left undone."""
    _beat("sweep")
    for step in (
        verification.release_orphans,
        partial(verification.drain, count_tokens=tokens.load()),
        attempts.sweep_overdue_attempts,
        expiry.expire_reviews,
        returns.note_missing_returns,
        expiry.delete_expired_refusals,
    ):
        try:
            step()
        except SoftTimeLimitExceeded:
            raise
        except Exception:  # one broken row or step must not stop the deadlines of all others
            log.exception("sweep.step_failed", step=getattr(step, "__name__", "drain"))


def _beat(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO worker_heartbeat (name, at) VALUES (%s, clock_timestamp()) "
            "ON CONFLICT (name) DO UPDATE SET at = excluded.at",
            [name],
        )
