"""What a check may know besides its document (contract §4, History), collected for a whole batch at once.

The queries stand in `history_queries`. Each costs the same in a session of ten checkpoints and of ten thousand.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from checkpoints.canonical import digest
from checkpoints.checks.engine_reading import own_members
from checkpoints.formats import reread
from checkpoints.formats.names import short
from checkpoints.handoffs.calls import call_results
from checkpoints.models import Handoff
from checkpoints.services import history_queries as queries
from checkpoints.types import Answer, CheckContext, CheckPolicy, KnownRun, Submission

LISTED_GAPS = 100


@dataclass(frozen=True, slots=True)
class Case:
    """One document to judge. `likeness` is the digest of it without ids and times.

    `first_judged_at` set: what is known is what was known then (a simulation); None: what is known now.
    """

    handoff: Handoff
    submission: Submission
    likeness: str
    first_judged_at: datetime | None = None


@dataclass
class _Collected:
    neighbours: tuple[Any, ...] = (None,) * 8
    previous: Submission | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)
    runs: dict[str, KnownRun] = field(default_factory=dict)
    pair: list[tuple[str | None, str | None]] = field(default_factory=list)


def collect_many(
    *,
    cases: Sequence[Case],
    policy: CheckPolicy,
    count_tokens: Callable[[str], int] | None = None,
    read: Callable[[bytes], Submission] = reread,
) -> dict[UUID, CheckContext]:
    """The context of each case by the handoff's key. All of them are judged as of now, or all as of then.

    `read` reads the bodies of predecessors: one that remembers spares reading what is judged in the same breath.
    """
    found = {case.handoff.pk: _Collected() for case in cases}
    then = any(case.first_judged_at for case in cases)
    given: dict[str, Any] = {
        "ids": [case.handoff.pk for case in cases],
        "untils": [case.first_judged_at for case in cases],
    }
    with connection.cursor() as cursor:
        cursor.execute(queries.NEIGHBOURS_THEN if then else queries.NEIGHBOURS, given)
        for row in cursor.fetchall():
            content = row[4]
            found[row[0]].neighbours = row
            found[row[0]].previous = read(bytes(content)) if content is not None else None
        _collect_answers(cursor, cases, found)
        _collect_calls(cursor, cases, found)
        if any(case.handoff.run_id for case in cases):
            cursor.execute(queries.RUNS, given)
            for pk, *run in cursor.fetchall():
                found[pk].runs.setdefault(run[0], KnownRun(*run))
        cursor.execute(queries.PAIR, given)
        for pk, role, likeness in cursor.fetchall():
            found[pk].pair.append((role, likeness))
    return {case.handoff.pk: _context(case, found[case.handoff.pk], policy, count_tokens) for case in cases}


def predecessor(*, handoff: Handoff) -> Handoff | None:
    """The handoff whose content the checks compare this one with (contract §4, History), as of now."""
    with connection.cursor() as cursor:
        cursor.execute(queries.PREDECESSOR, {"id": handoff.pk})
        row = cursor.fetchone()
    return Handoff.objects.with_names().get(pk=row[0]) if row else None


def _collect_answers(cursor: CursorWrapper, cases: Sequence[Case], found: dict[UUID, _Collected]) -> None:
    wanted = [
        (case.handoff.pk, case.first_judged_at, name, short(name))
        for case in cases
        for name in _decision_ids(case.submission, found[case.handoff.pk].previous)
    ]
    if not wanted:
        return
    cursor.execute(queries.ANSWERS, _columns(("ids", "untils", "names", "keys"), wanted))
    for pk, decision_id, question, options, answer, checkpoint_id in cursor.fetchall():
        # A raw cursor gives jsonb as text.
        found[pk].answers[decision_id] = Answer(
            decision_id, question, tuple(json.loads(options)), answer, checkpoint_id
        )


def _decision_ids(*documents: Submission | None) -> dict[str, None]:
    """The decisions that these documents ask, each once."""
    return {
        decision.decision_id: None
        for document in documents
        if document is not None
        for decision in document.facts.pending_decisions
        if decision.decision_id
    }


def _collect_calls(cursor: CursorWrapper, cases: Sequence[Case], found: dict[UUID, _Collected]) -> None:
    wanted = [
        (case.handoff.pk, case.first_judged_at, call_id, short(call_id), result)
        for case in cases
        for call_id, result in call_results(case.submission).items()
    ]
    if not wanted:
        return
    cursor.execute(queries.CALLS, _columns(("ids", "untils", "names", "keys", "results"), wanted))
    for pk, call_id, session_id in cursor.fetchall():
        found[pk].calls[call_id] = session_id


def _columns(names: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _context(
    case: Case, found: _Collected, policy: CheckPolicy, count_tokens: Callable[[str], int] | None
) -> CheckContext:
    handoff = case.handoff
    _, judged, below, previous_sequence, _, known_ticket, used_by, twin = found.neighbours
    missing = range(below + 1, handoff.handoff_sequence) if below is not None else range(0)
    return CheckContext(
        received_at=handoff.received_at,
        policy=policy,
        checkpoint_id=handoff.checkpoint_id,
        handoff_sequence=handoff.handoff_sequence,
        previous=found.previous,
        previous_sequence=previous_sequence if found.previous is not None else None,
        highest_judged_sequence=judged,
        missing_sequences=tuple(missing[:LISTED_GAPS]),
        known_ticket=bool(known_ticket),
        idempotency_key_used_by=used_by,
        answers=found.answers,
        equal_posts=sum(
            1 for role, likeness in found.pair if likeness == case.likeness and role == handoff.agent_role
        ),
        role_alternations=_alternations(handoff.agent_role, [role for role, _ in found.pair]),
        foreign_call_ids=found.calls,
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
