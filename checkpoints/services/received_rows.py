"""The rows of new checkpoints: handoff, document, exact bytes and audit entry, of many with one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import orjson
import psycopg
from psycopg.types.json import Json

from checkpoints.formats import with_short_names
from checkpoints.handoffs.keys import derived_idempotency_key
from checkpoints.identifiers import uuid7
from checkpoints.models import Handoff, Orchestrator, Session
from checkpoints.services import audit
from checkpoints.types import Actor, State, Submission

# Columns of the handoff that differ from post to post, with their types.
NAMES: Final = {
    "id": "uuid", "orchestrator_id": "uuid", "session_id": "bigint", "checkpoint_id": "text",
    "id_assigned": "boolean", "handoff_sequence": "bigint", "format": "text", "body_digest": "text",
    "source_id": "text", "agent_id": "text", "agent_role": "text", "target_role": "text", "task_id": "text",
    "run_id": "text", "turn_id": "text", "parent_run_id": "text", "delegation_depth": "bigint",
    "sender_risk": "text", "human_approval_required": "boolean", "sender_ticket_reference": "text",
    "idempotency_key": "text", "title": "text", "content_digest": "text", "received_at": "timestamptz",
    "changed_at": "timestamptz", "max_retries": "integer",
}  # fmt: skip
# Those that begin alike in every handoff.
BEGINNING: Final[dict[str, Any]] = {
    "revision": 1, "state": State.RECEIVED.value, "version": 1, "check_attempts": 0, "reasons": [], "severity": 0,
    "first_finding": "", "finding_codes": [], "finding_count": 0, "round": 0, "approvals_required": 0,
    "approvals_given": 0, "reopened": False, "last_attempt": 0, "round_attempts": 0,
}  # fmt: skip
# What the rows beside the handoff need.
BESIDE: Final = {
    "checkpoint_pk": "uuid", "size": "integer", "actor_kind": "text", "actor_id": "text", "actor_label": "text",
    "entry_id": "uuid", "request_id": "text", "trace_id": "text", "text_commitment": "text", "digest": "text",
    "salt": "bytea", "after": "jsonb",
}  # fmt: skip
ACTION: Final = "handoff.received"


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return "'{}'"
    return f"'{value}'" if isinstance(value, str) else str(value).lower()


_TYPES = ", ".join(f"{name} {kind}" for name, kind in (NAMES | BESIDE).items())
# JSON for the members, since it is one parameter whatever their number; the bytes apart, since they are no text.
STORE: Final = f"""
    WITH given AS (
        SELECT * FROM ROWS FROM (json_to_recordset(%s) AS ({_TYPES}), unnest(%b::bytea[]))
            AS arrival ({", ".join(NAMES | BESIDE)}, content)
    ), handoff_row AS (
        INSERT INTO handoff ({", ".join([*NAMES, *BEGINNING])})
        SELECT {", ".join([*NAMES, *map(_literal, BEGINNING.values())])} FROM given
        ON CONFLICT DO NOTHING RETURNING id, session_id, handoff_sequence
    ), new AS (
        SELECT given.* FROM given JOIN handoff_row ON handoff_row.id = given.id
    ), checkpoint_row AS (
        INSERT INTO checkpoint (id, handoff_id, revision, content_digest, body_digest, size, author_kind, author_id,
            author_label, reason, created_at)
        SELECT checkpoint_pk, id, 1, content_digest, body_digest, size, actor_kind, actor_id, actor_label, '',
            received_at FROM new
    ), body_row AS (
        INSERT INTO checkpoint_body (checkpoint_id, content) SELECT checkpoint_pk, content FROM new
    ), counter AS (
        UPDATE session SET last_sequence = greatest(last_sequence, highest)
        FROM (SELECT session_id, max(handoff_sequence) AS highest FROM handoff_row GROUP BY session_id) stored
        WHERE session.id = stored.session_id
    ), entry AS (
        INSERT INTO audit_entry (id, at, action, actor_kind, actor_id, subject_kind, subject_id, subject_index,
            request_id, trace_id, text_commitment, digest)
        SELECT entry_id, received_at, '{ACTION}', actor_kind, actor_id, 'handoff', id::text, 0, request_id, trace_id,
            text_commitment, digest FROM new
    ), entry_text AS (
        INSERT INTO audit_text (entry_id, salt, label, after) SELECT entry_id, salt, actor_label, after FROM new
    )
    SELECT id FROM handoff_row
"""  # noqa: S608 - CONFIG: fixed column names


@dataclass(frozen=True, slots=True)
class Arrival:
    """A body that was read and can be stored, with who sent it."""

    orchestrator: Orchestrator
    body: bytes
    submission: Submission
    actor: Actor


@dataclass(frozen=True, slots=True)
class NewRows:
    """What STORE needs of one arrival, and the handoff as it will stand."""

    body: bytes
    members: dict[str, Any]
    handoff: Handoff


def build(arrival: Arrival, *, session_pk: int, sequence: int, at: datetime, retries: int) -> NewRows:
    """The rows of an arrival at its place in its session. `retries` is the policy's bound."""
    submission, actor = arrival.submission, arrival.actor
    facts = with_short_names(submission.facts)
    handoff_id = uuid7()
    checkpoint_id = submission.checkpoint_id or str(handoff_id)
    names = {
        "id": handoff_id,
        "orchestrator_id": arrival.orchestrator.pk,
        "session_id": session_pk,
        "checkpoint_id": checkpoint_id,
        "id_assigned": submission.checkpoint_id is None,
        "handoff_sequence": sequence,
        "format": submission.format,
        "body_digest": submission.body_digest,
        "source_id": facts.source_id,
        "agent_id": facts.agent_id,
        "agent_role": facts.agent_role,
        "target_role": facts.target_role,
        "task_id": facts.task_id,
        "run_id": facts.run_id,
        "turn_id": facts.turn_id,
        "parent_run_id": facts.parent_run_id,
        "delegation_depth": facts.delegation_depth,
        "sender_risk": facts.risk_level.value if facts.risk_level else None,
        "human_approval_required": facts.human_approval_required,
        "sender_ticket_reference": facts.sender_ticket_reference,
        "idempotency_key": facts.idempotency_key
        or derived_idempotency_key(submission.session_id, sequence, facts.task_id),
        "title": submission.title,
        "content_digest": submission.content_digest,
        "received_at": at,
        "changed_at": at,
        "max_retries": retries if facts.max_retries is None else min(facts.max_retries, retries),
    }
    entry = _entry(
        submission, actor, handoff_id=str(handoff_id), checkpoint_id=checkpoint_id, sequence=sequence, at=at
    )
    beside = {
        "checkpoint_pk": uuid7(),
        "size": len(arrival.body),
        "actor_kind": actor.kind,
        "actor_id": actor.id,
        "actor_label": actor.label,
        "entry_id": entry.id,
        "request_id": actor.request_id,
        "trace_id": actor.trace_id,
        "text_commitment": entry.text_commitment,
        "digest": entry.digest,
        "salt": f"\\x{entry.salt.hex()}",
        "after": entry.entry.after,
    }
    return NewRows(arrival.body, names | beside, _handoff(names, arrival))


def write(cursor: psycopg.Cursor[Any], rows: Sequence[NewRows]) -> None:
    """Send STORE. Its result has one row, the id, for each that was stored: a name that is taken stores nothing."""
    members = Json([row.members for row in rows], dumps=orjson.dumps)
    cursor.execute(STORE, [members, [row.body for row in rows]], prepare=True)


def _entry(
    submission: Submission, actor: Actor, *, handoff_id: str, checkpoint_id: str, sequence: int, at: datetime
) -> audit.Row:
    entry = audit.Entry(
        action=ACTION,
        actor=actor,
        subject=("handoff", handoff_id),
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
    )
    return audit.build(entry, index=0, previous_digest=None)


def _handoff(names: dict[str, Any], arrival: Arrival) -> Handoff:
    """The row as it will be written, with its names: whoever answers need not read it again."""
    handoff = Handoff(**names, **BEGINNING)
    handoff._state.adding = False
    handoff.orchestrator = arrival.orchestrator
    handoff.session = Session(pk=handoff.session_id, session_id=arrival.submission.session_id)
    return handoff
