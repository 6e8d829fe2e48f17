"""Rates and quotas of submissions: settings, off by default, counted from the rows themselves."""

from __future__ import annotations

from math import ceil

from django.conf import settings
from django.db import connection

from checkpoints.errors import LimitReached
from checkpoints.models import Orchestrator

# When the newest N submissions of the last minute fill the rate: seconds until the oldest of them leaves the minute.
RATE = """
    SELECT count(*), extract(epoch FROM min(at) + interval '1 minute' - clock_timestamp()) FROM (
        SELECT at FROM (
            (SELECT received_at AS at FROM handoff
             WHERE orchestrator_id = %(id)s AND received_at > clock_timestamp() - interval '1 minute'
             ORDER BY received_at DESC LIMIT %(rate)s)
            UNION ALL
            (SELECT at FROM refusal
             WHERE orchestrator_id = %(id)s AND at > clock_timestamp() - interval '1 minute'
             ORDER BY at DESC LIMIT %(rate)s)
        ) submissions ORDER BY at DESC LIMIT %(rate)s
    ) newest
"""
OPEN = """
    SELECT count(*) FROM (
        SELECT FROM handoff
        WHERE orchestrator_id = %(id)s AND state IN ('received', 'flagged', 'escalated') LIMIT %(quota)s
    ) open_ones
"""
QUOTA_RETRY_SECONDS = 60


def refuse_excess(*, orchestrator: Orchestrator) -> None:
    """Raises LimitReached (429) where a rate or quota is set and full. Both count across all processes."""
    if settings.SUBMISSIONS_PER_MINUTE:
        rate: int = settings.SUBMISSIONS_PER_MINUTE
        with connection.cursor() as cursor:
            cursor.execute(RATE, {"id": orchestrator.pk, "rate": rate})
            count, seconds = cursor.fetchone()
        if count >= rate:
            raise LimitReached(
                f"{count} submissions in the last minute; {rate} are allowed. Repeat this one later: repeats are safe.",
                retry_after=max(1, ceil(seconds)),
            )
    if settings.QUEUE_QUOTA:
        quota: int = settings.QUEUE_QUOTA
        with connection.cursor() as cursor:
            cursor.execute(OPEN, {"id": orchestrator.pk, "quota": quota})
            (count,) = cursor.fetchone()
        if count >= quota:
            raise LimitReached(
                f"{count} handoffs of this orchestrator are open; {quota} are allowed. Keep the checkpoint and send it "
                "again when some are decided or cancelled.",
                slug="queue-quota",
                retry_after=QUOTA_RETRY_SECONDS,
            )
