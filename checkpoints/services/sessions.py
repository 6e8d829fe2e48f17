"""A session as a whole: its gaps, its delegated runs, its states."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection
from django.db.models import Count

from checkpoints.models import Handoff, Session
from checkpoints.types import JSONObject

LISTED_GAPS = 200

GAPS = """
    SELECT missing FROM (
        SELECT handoff_sequence AS this, lag(handoff_sequence) OVER (ORDER BY handoff_sequence) AS before
        FROM handoff WHERE session_id = %s
    ) steps
    CROSS JOIN LATERAL generate_series(before + 1, least(this - 1, before + %s)) AS missing
    WHERE this > before + 1 ORDER BY missing LIMIT %s
"""
RUNS = """
    SELECT run_id, parent_run_id, delegation_depth, array_agg(checkpoint_id ORDER BY handoff_sequence)
    FROM handoff WHERE session_id = %s AND run_id IS NOT NULL
    GROUP BY run_id, parent_run_id, delegation_depth ORDER BY min(handoff_sequence)
"""


@dataclass(frozen=True, slots=True)
class Overview:
    """`gaps` are free numbers between stored sequences, the first 200 of them; `runs` as the API shows them."""

    gaps: list[int]
    runs: list[JSONObject]
    state_counts: dict[str, int]


def overview(*, session: Session) -> Overview:
    """What a session's handoffs say together."""
    with connection.cursor() as cursor:
        cursor.execute(GAPS, [session.pk, LISTED_GAPS, LISTED_GAPS])
        gaps = [row[0] for row in cursor.fetchall()]
        cursor.execute(RUNS, [session.pk])
        runs: list[JSONObject] = [
            {"run_id": run, "parent_run_id": parent, "depth": depth, "checkpoint_ids": list(names)}
            for run, parent, depth, names in cursor.fetchall()
        ]
    counts = (
        Handoff.objects.filter(session=session).values_list("state").annotate(Count("pk")).order_by("state")
    )
    return Overview(gaps, runs, dict(counts))
