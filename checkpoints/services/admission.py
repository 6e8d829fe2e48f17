"""The synchronous gate: store first (contract §2.1). One transaction, no broker, no judgement.

A commit costs two journeys to the database, whatever the number of checkpoints in it: one that locks their
sessions and reads the time, one that writes and commits. Posts that arrive at the same time share a commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg

from checkpoints.errors import Conflict, InvalidInput
from checkpoints.faults import fault
from checkpoints.models import Handoff, Orchestrator
from checkpoints.services import pipeline, received_rows
from checkpoints.services.group_commit import GroupCommit
from checkpoints.services.policy import active
from checkpoints.services.received_rows import Arrival, NewRows
from checkpoints.types import Actor, CheckPolicy, Submission

LAST_SEQUENCE = 2**53 - 1
MOST_TOGETHER = 64

# Sorted: two transactions that share sessions cannot wait for each other in a circle.
LOCK_SESSIONS = """
    INSERT INTO session (orchestrator_id, session_id, last_sequence, created_at)
    SELECT owner, name, 0, clock_timestamp() FROM unnest(%s::uuid[], %s::text[]) AS wanted (owner, name)
    ORDER BY owner, name
    ON CONFLICT (orchestrator_id, session_id) DO UPDATE SET last_sequence = session.last_sequence
    RETURNING orchestrator_id, session_id, id, last_sequence, clock_timestamp()
"""
# Which of these are stored already: by the sender's id, or by (session, body) where the server assigned one.
KNOWN = """
    SELECT wanted.number FROM unnest(%s::int[], %s::uuid[], %s::bigint[], %s::text[], %s::text[])
        AS wanted (number, owner, session, checkpoint_id, body_digest)
    WHERE EXISTS (
        SELECT FROM handoff WHERE orchestrator_id = wanted.owner AND checkpoint_id = wanted.checkpoint_id
    ) OR wanted.checkpoint_id IS NULL AND EXISTS (
        SELECT FROM handoff WHERE session_id = wanted.session AND body_digest = wanted.body_digest AND id_assigned
    )
"""


@dataclass(frozen=True, slots=True)
class Admitted:
    """`created` is False where the same bytes stood here already (200 instead of 201).

    `handoff` is the new row as it was written, with its names: whoever answers need not read it again.
    """

    handoff_id: UUID
    created: bool
    handoff: Handoff | None = None


@dataclass(slots=True)
class _Session:
    """A locked session: the last number that stands or was given away in this transaction."""

    pk: int
    last: int


@dataclass(slots=True)
class _Place:
    """Where an arrival stands. `sequence` is None where it is known already, `rows` where nothing is written."""

    session: _Session
    sequence: int | None = None
    rows: NewRows | None = None


def admit(*, orchestrator: Orchestrator, body: bytes, submission: Submission, actor: Actor) -> Admitted:
    """Store a checkpoint durably. Raises Conflict: `checkpoint-conflict` or `sequence-conflict` (409)."""
    result = _GROUP.submit(Arrival(orchestrator, body, submission, actor))
    if isinstance(result, Conflict):
        raise result
    return result


def admit_together(arrivals: Sequence[Arrival], *, point: str = "admission") -> list[Admitted | Conflict]:
    """Store many in one commit. A conflict is its arrival's result and stops no other.

    `point` names the two places where a test may kill the process: `….before_commit`, `….after_commit`.
    """
    retries = _retry_limit()
    with pipeline.transaction() as cursor:
        places = _write(cursor, arrivals, retries)
        fault(f"{point}.before_commit")
    fault(f"{point}.after_commit")
    stored = {row[0] for row in cursor.fetchall()} if any(place.rows for place in places) else set()
    return [_result(arrival, place, stored) for arrival, place in zip(arrivals, places, strict=True)]


_GROUP = GroupCommit(admit_together, most=MOST_TOGETHER)


def _write(cursor: psycopg.Cursor[Any], arrivals: Sequence[Arrival], retries: int) -> list[_Place]:
    """Lock the sessions, give every arrival its place, and send the rows of those that are new."""
    sessions, at = _lock(cursor, arrivals)
    places = [_Place(sessions[_key(arrival)]) for arrival in arrivals]
    known = _known(cursor, arrivals, places)
    for number, (arrival, place) in enumerate(zip(arrivals, places, strict=True)):
        if number in known:
            continue
        place.sequence = arrival.submission.handoff_sequence or place.session.last + 1
        if place.sequence > LAST_SEQUENCE:
            continue
        place.session.last = max(place.session.last, place.sequence)
        # A microsecond apart, so that order stands in the rows: building one takes longer than that.
        place.rows = received_rows.build(
            arrival,
            session_pk=place.session.pk,
            sequence=place.sequence,
            at=at + timedelta(microseconds=number),
            retries=retries,
        )
    new = [place.rows for place in places if place.rows]
    if new:
        received_rows.write(cursor, new)
    return places


def _key(arrival: Arrival) -> tuple[UUID, str]:
    return arrival.orchestrator.pk, arrival.submission.session_id


def _lock(
    cursor: psycopg.Cursor[Any], arrivals: Sequence[Arrival]
) -> tuple[dict[tuple[UUID, str], _Session], datetime]:
    """The arrivals' sessions, locked and made where they are missing, and the time after the last lock."""
    wanted = {_key(arrival) for arrival in arrivals}
    cursor.execute(
        LOCK_SESSIONS, [[owner for owner, _ in wanted], [name for _, name in wanted]], prepare=True
    )
    rows = cursor.fetchall()
    return {(owner, name): _Session(pk, last) for owner, name, pk, last, _ in rows}, max(
        row[4] for row in rows
    )


def _known(cursor: psycopg.Cursor[Any], arrivals: Sequence[Arrival], places: Sequence[_Place]) -> set[int]:
    """The numbers of those that must not be numbered, because they are stored or stand here twice.

    Asked only where a number is to be given: elsewhere the insertion itself finds out.
    """
    unnumbered = {
        place.session.pk
        for arrival, place in zip(arrivals, places, strict=True)
        if arrival.submission.handoff_sequence is None
    }
    known: set[int] = set()
    asked: list[int] = []
    seen: set[tuple[UUID | int, str]] = set()
    for number, (arrival, place) in enumerate(zip(arrivals, places, strict=True)):
        submission = arrival.submission
        if place.session.pk not in unnumbered:
            continue
        name: tuple[UUID | int, str] = (place.session.pk, submission.body_digest)
        if submission.checkpoint_id is not None:
            name = (arrival.orchestrator.pk, submission.checkpoint_id)
        (known.add if name in seen else asked.append)(number)
        seen.add(name)
    if asked:
        cursor.execute(
            KNOWN,
            [
                asked,
                [arrivals[number].orchestrator.pk for number in asked],
                [places[number].session.pk for number in asked],
                [arrivals[number].submission.checkpoint_id for number in asked],
                [arrivals[number].submission.body_digest for number in asked],
            ],
            prepare=True,
        )
        known.update(row[0] for row in cursor.fetchall())
    return known


def _result(arrival: Arrival, place: _Place, stored: set[UUID]) -> Admitted | Conflict:
    rows = place.rows
    if rows is not None and rows.handoff.pk in stored:
        return Admitted(rows.handoff.pk, created=True, handoff=rows.handoff)
    try:
        return _existing(arrival, place)
    except Conflict as error:
        return error


def _existing(arrival: Arrival, place: _Place) -> Admitted:
    """Why nothing was inserted: the same bytes again, or a contradiction with what stands."""
    submission = arrival.submission
    if submission.checkpoint_id is None:
        twin = Handoff.objects.filter(
            session_id=place.session.pk, body_digest=submission.body_digest, id_assigned=True
        ).first()
    else:
        twin = Handoff.objects.filter(
            orchestrator=arrival.orchestrator, checkpoint_id=submission.checkpoint_id
        ).first()
    if twin is not None:
        if twin.body_digest == submission.body_digest:
            return Admitted(twin.pk, created=False)
        raise Conflict(
            f"Checkpoint {twin.checkpoint_id} is stored with other bytes. A stored checkpoint never changes: "
            "send the repaired document under a new checkpoint_id and the next handoff_sequence.",
            slug="checkpoint-conflict",
            extra={"stored_digest": twin.body_digest, "received_digest": submission.body_digest},
        )
    raise _taken(submission, place)


def _taken(submission: Submission, place: _Place) -> Conflict:
    if place.sequence is None or place.sequence > LAST_SEQUENCE:
        return Conflict(
            f"Session {submission.session_id} has used its last sequence, 2^53-1. Begin another session.",
            slug="sequence-conflict",
            extra={"next_sequence": None},
        )
    last = (
        Handoff.objects.filter(session_id=place.session.pk)
        .order_by("-handoff_sequence")
        .values_list("handoff_sequence", flat=True)
        .first()
    )
    following = (last or 0) + 1
    return Conflict(
        f"handoff_sequence {place.sequence} of session {submission.session_id} belongs to another checkpoint. "
        + (f"The next free one is {following}." if following <= LAST_SEQUENCE else "There is none after it."),
        slug="sequence-conflict",
        extra={"next_sequence": following if following <= LAST_SEQUENCE else None},
    )


def _retry_limit() -> int:
    """The policy's bound; the default where the policy cannot be read, for storing never waits for it."""
    try:
        return active().compiled.max_retries
    except InvalidInput:
        return CheckPolicy().max_retries
