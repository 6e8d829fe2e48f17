"""Keeping what was refused: a complete body that cannot be stored as a checkpoint is not lost (contract §2.1)."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction

from checkpoints.canonical import digest_bytes
from checkpoints.errors import ReviewQueueError
from checkpoints.faults import fault
from checkpoints.models import Orchestrator, Refusal, RefusalBody
from checkpoints.services import audit
from checkpoints.services.clock import now
from checkpoints.types import Actor

# Of an orchestrator's kept bodies, newest first, those that do not fit beside the new one. A row costs room too:
# each body counts as at least 1 KiB, so that the sum never walks more than a hundred thousand rows.
MAKE_ROOM = """
    WITH kept AS (
        SELECT r.id, sum(greatest(r.size, 1024)) OVER (ORDER BY r.at DESC, r.id DESC) AS total
        FROM refusal r JOIN refusal_body b ON b.refusal_id = r.id
        WHERE r.orchestrator_id = %s AND r.at > clock_timestamp() - make_interval(days => %s)
    )
    DELETE FROM refusal_body WHERE refusal_id IN (SELECT id FROM kept WHERE total > %s)
"""


def keep(
    *,
    orchestrator: Orchestrator,
    body: bytes,
    error: ReviewQueueError,
    session_id: str | None,
    checkpoint_id: str | None,
    actor: Actor,
) -> Refusal:
    """Store the facts of a refusal and its bytes. Oldest bodies make room; a body larger than all room is not kept."""
    period = timedelta(days=settings.QUARANTINE_DAYS)
    fits = max(len(body), 1024) <= settings.QUARANTINE_BYTES
    with transaction.atomic(durable=True):
        _make_room(orchestrator, len(body) if fits else 0)
        at = now()
        refusal = Refusal.objects.create(
            orchestrator=orchestrator,
            at=at,
            status=error.status,
            type=f"/problems/{error.slug}",
            errors=[
                {"pointer": item.pointer, "code": item.code, "detail": item.detail} for item in error.errors
            ],
            session_id=session_id,
            checkpoint_id=checkpoint_id,
            body_digest=digest_bytes(body),
            size=len(body),
            expires_at=at + period,
        )
        if fits:
            RefusalBody.objects.create(refusal=refusal, content=body)
        audit.record(
            audit.Entry(
                action="refusal.kept",
                actor=actor,
                subject=(audit.REFUSAL, str(refusal.pk)),
                at=at,
                after={
                    "type": refusal.type,
                    "session_id": session_id,
                    "checkpoint_id": checkpoint_id,
                    "body_digest": refusal.body_digest,
                    "size": refusal.size,
                    "kept": fits,
                },
            )
        )
        fault("quarantine.before_commit")
    fault("quarantine.after_commit")
    return refusal


def _make_room(orchestrator: Orchestrator, size: int) -> None:
    """One refusal of an orchestrator at a time, so that two cannot count the same room."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"quarantine:{orchestrator.pk}"]
        )
        cursor.execute(
            MAKE_ROOM,
            [orchestrator.pk, settings.QUARANTINE_DAYS, settings.QUARANTINE_BYTES - max(size, 1024)],
        )
