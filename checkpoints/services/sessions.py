"""A session as a whole: its gaps, its delegated runs, its states."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

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


RUN_LINES = """
    SELECT run_id, parent_run_id, coalesce(delegation_depth, 0), count(*), min(handoff_sequence), max(handoff_sequence),
        (array_agg(id ORDER BY handoff_sequence DESC))[1], (array_agg(state ORDER BY handoff_sequence DESC))[1]
    FROM handoff WHERE session_id = %s AND run_id IS NOT NULL
    GROUP BY run_id, parent_run_id, coalesce(delegation_depth, 0) ORDER BY min(handoff_sequence) LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class RunLine:
    """One run of a session: how many checkpoints, from which sequence to which, and its newest handoff."""

    run_id: str
    parent_run_id: str | None
    depth: int
    checkpoints: int
    first_sequence: int
    last_sequence: int
    newest: UUID
    newest_state: str


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


def run_lines(*, session: Session, limit: int) -> list[RunLine]:
    """The runs of a session in the order of their first checkpoints, at most `limit`."""
    with connection.cursor() as cursor:
        cursor.execute(RUN_LINES, [session.pk, limit])
        return [RunLine(*row) for row in cursor.fetchall()]
