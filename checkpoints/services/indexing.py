"""Writing what `services.history` looks up by name: answers that people gave, results of tool calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from checkpoints.formats.names import short
from checkpoints.models import GivenAnswer, Handoff
from checkpoints.types import JSONObject

# A call that a session shows again, in each of its later documents, is a row that stands already.
CALLS = """
    INSERT INTO tool_call (orchestrator_id, call_id, result, session_id, at)
    SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[], %s::bigint[], %s::timestamptz[])
    ON CONFLICT DO NOTHING
"""


def remember_answers(*, handoff: Handoff, answers: Sequence[JSONObject], at: datetime) -> None:
    """Index the answers of a decision, in the decision's own transaction."""
    rows: list[Mapping[str, Any]] = [*answers]
    GivenAnswer.objects.bulk_create(
        GivenAnswer(
            session_id=handoff.session_id,
            decision_id=short(item["decision_id"]),
            handoff=handoff,
            handoff_sequence=handoff.handoff_sequence,
            round=handoff.round,
            question=item.get("question", ""),
            options=item.get("options", []),
            answer=item["answer"],
            at=at,
        )
        for item in rows
    )


def remember_calls(*, calls: Iterable[tuple[Handoff, Mapping[str, str]]], at: datetime) -> None:
    """Index the tool calls of judged documents (call_id -> digest of the result), in the verdict's transaction."""
    rows = sorted(
        {
            (handoff.orchestrator_id, short(call_id), result, handoff.session_id)
            for handoff, results in calls
            for call_id, result in results.items()
        }
    )  # in one order everywhere: two writers of the same rows wait for each other once
    if not rows:
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(CALLS, [*columns, [at] * len(rows)])
