"""The synchronous gate: store first (contract §2.1). One transaction, no broker, no judgement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from checkpoints.errors import Conflict, InvalidInput
from checkpoints.faults import fault
from checkpoints.formats import with_short_names
from checkpoints.handoffs.keys import derived_idempotency_key
from checkpoints.identifiers import uuid7
from checkpoints.models import Handoff, Orchestrator, Session
from checkpoints.services import audit
from checkpoints.services.policy import active
from checkpoints.types import Actor, CheckPolicy, State, Submission

LAST_SEQUENCE = 2**53 - 1

LOCK_SESSION = """
    INSERT INTO session (orchestrator_id, session_id, last_sequence, created_at)
    VALUES (%s, %s, 0, clock_timestamp())
    ON CONFLICT (orchestrator_id, session_id) DO UPDATE SET last_sequence = session.last_sequence
    RETURNING id, last_sequence, clock_timestamp()
"""

COLUMNS = (
    "id", "orchestrator_id", "session_id", "checkpoint_id", "id_assigned", "handoff_sequence", "format", "body_digest",
    "source_id", "agent_id", "agent_role", "target_role", "task_id", "run_id", "turn_id", "parent_run_id",
    "delegation_depth", "sender_risk", "human_approval_required", "sender_ticket_reference", "idempotency_key",
    "title", "revision", "content_digest", "state", "version", "received_at", "changed_at", "check_attempts",
    "reasons", "severity", "first_finding", "finding_codes", "finding_count", "round", "approvals_required",
    "approvals_given", "reopened", "max_retries", "last_attempt", "round_attempts",
)  # fmt: skip

# Handoff, checkpoint, body, audit entry and the session's counter in one statement: all or nothing.
STORE = f"""
    WITH handoff_row AS (
        INSERT INTO handoff ({", ".join(COLUMNS)}) VALUES ({", ".join(["%s"] * len(COLUMNS))})
        ON CONFLICT DO NOTHING RETURNING id
    ), checkpoint_row AS (
        INSERT INTO checkpoint (id, handoff_id, revision, content_digest, body_digest, size, author_kind, author_id,
            author_label, reason, created_at)
        SELECT %s, id, 1, %s, %s, %s, %s, %s, %s, '', %s FROM handoff_row RETURNING id
    ), body_row AS (
        INSERT INTO checkpoint_body (checkpoint_id, content) SELECT id, %s FROM checkpoint_row
    ), counter AS (
        UPDATE session SET last_sequence = greatest(last_sequence, %s)
        WHERE id = %s AND EXISTS (SELECT FROM handoff_row)
    ), entry AS (
        INSERT INTO audit_entry (id, at, action, actor_kind, actor_id, subject_kind, subject_id, subject_index,
            request_id, trace_id, policy_version, previous_digest, text_commitment, digest)
        SELECT %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::int, %s, %s, %s FROM handoff_row
        RETURNING id
    ), entry_text AS (
        INSERT INTO audit_text (entry_id, salt, label, reason, before, after)
        SELECT id, %s, %s, %s, %s::jsonb, %s::jsonb FROM entry
    )
    SELECT id FROM handoff_row
"""  # noqa: S608 - CONFIG: fixed column names


@dataclass(frozen=True, slots=True)
class Admitted:
    """`created` is False where the same bytes stood here already (200 instead of 201).

    `handoff` is the new row as it was written, with its names: whoever answers need not read it again.
    """

    handoff_id: UUID
    created: bool
    handoff: Handoff | None = None


def admit(*, orchestrator: Orchestrator, body: bytes, submission: Submission, actor: Actor) -> Admitted:
    """Store a checkpoint durably. Raises Conflict: `checkpoint-conflict` or `sequence-conflict` (409)."""
    with transaction.atomic(durable=True):
        admitted = store(orchestrator=orchestrator, body=body, submission=submission, actor=actor)
        fault("admission.before_commit")
    fault("admission.after_commit")
    return admitted


def lock_sessions(*, orchestrator: Orchestrator, session_ids: Sequence[str]) -> None:
    """Lock sessions in the order given, made where they are missing: `store` then waits for nobody."""
    with connection.cursor() as cursor:
        cursor.executemany(LOCK_SESSION, [[orchestrator.pk, session_id] for session_id in session_ids])


def store(*, orchestrator: Orchestrator, body: bytes, submission: Submission, actor: Actor) -> Admitted:
    """`admit` inside the caller's transaction (the batch commits many together)."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_SESSION, [orchestrator.pk, submission.session_id])
        session_pk, last_sequence, at = cursor.fetchone()
        if submission.checkpoint_id is None and (known := _by_natural_key(session_pk, submission)):
            return Admitted(known, created=False)
        sequence = submission.handoff_sequence or last_sequence + 1
        if sequence > LAST_SEQUENCE:
            raise Conflict(
                f"Session {submission.session_id} has used its last sequence, 2^53-1. Begin another session.",
                slug="sequence-conflict",
                extra={"next_sequence": None},
            )
        handoff_id = uuid7()
        checkpoint_id = submission.checkpoint_id or str(handoff_id)
        values = _values(
            handoff_id=handoff_id,
            checkpoint_id=checkpoint_id,
            session_pk=session_pk,
            sequence=sequence,
            at=at,
            orchestrator=orchestrator,
            body=body,
            submission=submission,
            actor=actor,
        )
        cursor.execute(STORE, values)
        if cursor.fetchone() is not None:
            return Admitted(handoff_id, created=True, handoff=_row(values, orchestrator, submission))
    return _existing(orchestrator, session_pk, checkpoint_id, sequence, submission)


def _row(values: list[Any], orchestrator: Orchestrator, submission: Submission) -> Handoff:
    """The row that STORE has just written, without reading it."""
    handoff = Handoff(**dict(zip(COLUMNS, values, strict=False)))
    handoff._state.adding = False
    handoff.orchestrator = orchestrator
    handoff.session = Session(pk=handoff.session_id, session_id=submission.session_id)
    return handoff


def _by_natural_key(session_pk: int, submission: Submission) -> UUID | None:
    """(session, body digest) names a handoff whose checkpoint_id the server assigned."""
    return (
        Handoff.objects.filter(session_id=session_pk, body_digest=submission.body_digest, id_assigned=True)
        .values_list("pk", flat=True)
        .first()
    )


def _existing(
    orchestrator: Orchestrator, session_pk: int, checkpoint_id: str, sequence: int, submission: Submission
) -> Admitted:
    """Why nothing was inserted: the same bytes again, or a contradiction with what stands."""
    twin = Handoff.objects.filter(orchestrator=orchestrator, checkpoint_id=checkpoint_id).first()
    if twin is not None:
        if twin.body_digest == submission.body_digest:
            return Admitted(twin.pk, created=False)
        raise Conflict(
            f"Checkpoint {checkpoint_id} is stored with other bytes. A stored checkpoint never changes: "
            "send the repaired document under a new checkpoint_id and the next handoff_sequence.",
            slug="checkpoint-conflict",
            extra={"stored_digest": twin.body_digest, "received_digest": submission.body_digest},
        )
    session_last = (
        Handoff.objects.filter(session_id=session_pk)
        .order_by("-handoff_sequence")
        .values_list("handoff_sequence", flat=True)
        .first()
    )
    following = (session_last or 0) + 1
    raise Conflict(
        f"handoff_sequence {sequence} of session {submission.session_id} belongs to another checkpoint. "
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


def _values(
    *,
    handoff_id: UUID,
    checkpoint_id: str,
    session_pk: int,
    sequence: int,
    at: datetime,
    orchestrator: Orchestrator,
    body: bytes,
    submission: Submission,
    actor: Actor,
) -> list[Any]:
    facts = with_short_names(submission.facts)
    limit = _retry_limit()
    row = audit.build(
        audit.Entry(
            action="handoff.received",
            actor=actor,
            subject=("handoff", str(handoff_id)),
            at=at,
            after={
                "state": State.RECEIVED.value,
                "checkpoint_id": checkpoint_id,
                "session_id": submission.session_id,
                "handoff_sequence": sequence,
                "revision": 1,
                "content_digest": submission.content_digest,
                "body_digest": submission.body_digest,
            },
        ),
        index=0,
        previous_digest=None,
    )
    handoff_values: list[Any] = [
        handoff_id, orchestrator.pk, session_pk, checkpoint_id, submission.checkpoint_id is None, sequence,
        submission.format, submission.body_digest, facts.source_id, facts.agent_id, facts.agent_role,
        facts.target_role, facts.task_id, facts.run_id, facts.turn_id, facts.parent_run_id, facts.delegation_depth,
        facts.risk_level.value if facts.risk_level else None, facts.human_approval_required,
        facts.sender_ticket_reference,
        facts.idempotency_key or derived_idempotency_key(submission.session_id, sequence, facts.task_id),
        submission.title, 1, submission.content_digest, State.RECEIVED.value, 1, at, at, 0,
        [], 0, "", [], 0, 0, 0, 0, False,
        limit if facts.max_retries is None else min(facts.max_retries, limit), 0, 0,
    ]  # fmt: skip
    return [
        *handoff_values,
        uuid7(), submission.content_digest, submission.body_digest, len(body), actor.kind, actor.id, actor.label, at,
        body,
        sequence, session_pk,
        *audit.parameters(row),
    ]  # fmt: skip
