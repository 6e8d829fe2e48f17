"""What a check may know besides its document (contract §4, History), collected for a whole batch at once.

For a handoff that was judged before, the order of the session is that of its first verdict.

Each query costs the same in a session of ten checkpoints and of ten thousand: it walks an index from the row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from checkpoints.canonical import digest
from checkpoints.checks.engine_reading import own_members
from checkpoints.formats import reread
from checkpoints.models import Handoff
from checkpoints.types import Answer, CheckContext, CheckPolicy, KnownRun, Submission

LISTED_GAPS = 100

# Order within the session, the predecessor whose content is compared, and the registries, one row per handoff.
NEIGHBOURS = """
    SELECT h.id, judged.sequence, below.sequence, previous.sequence, previous.content,
        ticket.known, used.checkpoint_id, twin.content
    FROM handoff h
    LEFT JOIN LATERAL (
        SELECT handoff_sequence AS sequence FROM handoff o
        WHERE o.session_id = h.session_id AND o.id <> h.id AND o.checked_at IS NOT NULL
            AND (h.checked_at IS NULL OR o.checked_at < h.checked_at)
        ORDER BY handoff_sequence DESC LIMIT 1
    ) judged ON true
    LEFT JOIN LATERAL (
        SELECT handoff_sequence AS sequence FROM handoff o
        WHERE o.session_id = h.session_id AND o.handoff_sequence < h.handoff_sequence
        ORDER BY handoff_sequence DESC LIMIT 1
    ) below ON true
    LEFT JOIN LATERAL (
        SELECT o.handoff_sequence AS sequence, b.content FROM handoff o
        JOIN checkpoint c ON c.handoff_id = o.id AND c.revision = o.revision
        JOIN checkpoint_body b ON b.checkpoint_id = c.id
        WHERE o.session_id = h.session_id AND o.handoff_sequence < h.handoff_sequence
            AND o.state NOT IN ('rejected', 'aborted', 'cancelled') AND o.format = h.format
            AND CASE WHEN h.format = 'prompty.engine/1'
                THEN o.run_id = h.run_id AND o.turn_id = h.turn_id
                ELSE o.task_id IS NOT DISTINCT FROM h.task_id AND o.agent_role IS NOT DISTINCT FROM h.agent_role
            END
        ORDER BY o.handoff_sequence DESC LIMIT 1
    ) previous ON true
    LEFT JOIN LATERAL (
        SELECT true AS known FROM ticket t
        WHERE t.orchestrator_id = h.orchestrator_id AND t.reference = h.sender_ticket_reference
    ) ticket ON true
    LEFT JOIN LATERAL (
        SELECT o.checkpoint_id FROM handoff o
        WHERE o.orchestrator_id = h.orchestrator_id AND o.idempotency_key = h.idempotency_key
            AND o.id <> h.id AND (o.received_at, o.id) < (h.received_at, h.id)
            AND o.state <> 'rejected' AND NOT (o.state IN ('aborted', 'cancelled') AND o.last_attempt = 0)
        ORDER BY o.received_at DESC LIMIT 1
    ) used ON true
    LEFT JOIN LATERAL (
        SELECT b.content FROM handoff o
        JOIN checkpoint c ON c.handoff_id = o.id AND c.revision = o.revision
        JOIN checkpoint_body b ON b.checkpoint_id = c.id
        WHERE o.session_id = h.session_id AND o.run_id = h.run_id AND o.turn_id = h.turn_id
            AND o.source_id = h.source_id AND o.id <> h.id AND o.handoff_sequence < h.handoff_sequence
        ORDER BY o.handoff_sequence DESC LIMIT 1
    ) twin ON h.format = 'prompty.engine/1' AND h.source_id IS NOT NULL
    WHERE h.id = ANY(%s)
"""
ANSWERS = """
    SELECT h.id, o.checkpoint_id, d.answers FROM handoff h
    JOIN handoff o ON o.session_id = h.session_id AND o.handoff_sequence <= h.handoff_sequence
    JOIN decision d ON d.handoff_id = o.id AND d.answers <> '[]'::jsonb
    WHERE h.id = ANY(%s) ORDER BY d.at
"""
RUNS = """
    SELECT h.id, r.run_id, r.session_id, r.turn_id, r.parent_run_id, r.delegation_depth FROM handoff h
    CROSS JOIN LATERAL (
        SELECT o.run_id, s.session_id, o.turn_id, o.parent_run_id, o.delegation_depth
        FROM unnest(ARRAY[h.run_id, h.parent_run_id]) AS wanted (run_id)
        CROSS JOIN LATERAL (
            (
                SELECT p.*, 0 AS preference FROM handoff p
                WHERE p.orchestrator_id = h.orchestrator_id AND p.run_id = wanted.run_id
                    AND p.session_id = h.session_id AND p.handoff_sequence < h.handoff_sequence
                ORDER BY p.received_at DESC LIMIT 1
            )
            UNION ALL
            (
                SELECT p.*, 1 AS preference FROM handoff p
                WHERE p.orchestrator_id = h.orchestrator_id AND p.run_id = wanted.run_id
                    AND p.session_id <> h.session_id AND p.received_at < h.received_at
                LIMIT 1
            )
            ORDER BY preference LIMIT 1
        ) o
        JOIN session s ON s.id = o.session_id
    ) r
    WHERE h.id = ANY(%s) AND h.run_id IS NOT NULL
"""
# The last handoffs of the task between this pair of roles, newest first: content twins and changes of direction.
PAIR = """
    SELECT h.id, o.agent_role, o.likeness FROM handoff h
    CROSS JOIN LATERAL (
        SELECT p.agent_role, p.likeness, p.handoff_sequence FROM handoff p
        WHERE p.session_id = h.session_id AND p.task_id = h.task_id AND p.handoff_sequence < h.handoff_sequence
            AND p.agent_role IN (h.agent_role, h.target_role) AND p.target_role IN (h.agent_role, h.target_role)
        ORDER BY p.handoff_sequence DESC LIMIT 20
    ) o
    WHERE h.id = ANY(%s) ORDER BY h.id, o.handoff_sequence DESC
"""


@dataclass
class _Collected:
    neighbours: tuple[Any, ...] = (None,) * 8
    answers: dict[str, Answer] = field(default_factory=dict)
    runs: dict[str, KnownRun] = field(default_factory=dict)
    pair: list[tuple[str | None, str | None]] = field(default_factory=list)


def collect_many(
    *,
    handoffs: Sequence[Handoff],
    policy: CheckPolicy,
    likeness: dict[UUID, str],
    count_tokens: Callable[[str], int] | None = None,
) -> dict[UUID, CheckContext]:
    """The context of each handoff. `likeness` is the digest of each document without ids and times."""
    ids = [handoff.pk for handoff in handoffs]
    found = {pk: _Collected() for pk in ids}
    with connection.cursor() as cursor:
        cursor.execute(NEIGHBOURS, [ids])
        for row in cursor.fetchall():
            found[row[0]].neighbours = row
        cursor.execute(ANSWERS, [ids])
        for pk, checkpoint_id, answers in cursor.fetchall():
            for item in _answers(json.loads(answers), checkpoint_id):  # a raw cursor gives jsonb as text
                found[pk].answers[item.decision_id] = item
        cursor.execute(RUNS, [ids])
        for pk, *run in cursor.fetchall():
            found[pk].runs.setdefault(run[0], KnownRun(*run))
        cursor.execute(PAIR, [ids])
        for pk, role, digest in cursor.fetchall():
            found[pk].pair.append((role, digest))
    return {
        handoff.pk: _context(handoff, found[handoff.pk], policy, likeness.get(handoff.pk), count_tokens)
        for handoff in handoffs
    }


def _context(
    handoff: Handoff,
    found: _Collected,
    policy: CheckPolicy,
    likeness: str | None,
    count_tokens: Callable[[str], int] | None,
) -> CheckContext:
    _, judged, below, previous_sequence, content, known_ticket, used_by, twin = found.neighbours
    previous: Submission | None = reread(bytes(content)) if content is not None else None
    missing = range(below + 1, handoff.handoff_sequence) if below is not None else range(0)
    return CheckContext(
        received_at=handoff.received_at,
        policy=policy,
        checkpoint_id=handoff.checkpoint_id,
        handoff_sequence=handoff.handoff_sequence,
        previous=previous,
        previous_sequence=previous_sequence,
        highest_judged_sequence=judged,
        missing_sequences=tuple(missing[:LISTED_GAPS]),
        known_ticket=bool(known_ticket),
        idempotency_key_used_by=used_by,
        answers=found.answers,
        equal_posts=sum(1 for role, digest in found.pair if digest == likeness and role == handoff.agent_role)
        if likeness
        else 0,
        role_alternations=_alternations(handoff.agent_role, [role for role, _ in found.pair]),
        same_source_id_digest=digest(own_members(reread(bytes(twin)).payload)) if twin is not None else None,
        known_runs=found.runs,
        count_tokens=count_tokens,
    )


def _alternations(role: str | None, earlier: list[str | None]) -> int:
    """How often the direction changed without a pause, this handoff included; `earlier` is newest first."""
    count = 0
    for other in earlier:
        if other == role:
            break
        count += 1
        role = other
    return count


def _answers(stored: Any, checkpoint_id: str) -> list[Answer]:
    return [
        Answer(
            decision_id=item["decision_id"],
            question=item.get("question", ""),
            options=tuple(item.get("options", ())),
            answer=item["answer"],
            checkpoint_id=checkpoint_id,
        )
        for item in stored
    ]
