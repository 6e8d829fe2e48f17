"""The only writer of a handoff's state. Everything else asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection

from checkpoints.errors import NotFound
from checkpoints.handoffs.machine import Event, next_state
from checkpoints.models import CHANNEL, Handoff
from checkpoints.services import audit
from checkpoints.services.clock import now
from checkpoints.types import Actor, JSONObject, State

# Everything about a handoff that can change after admission; its names cannot.
MUTABLE = (
    "agent_id", "agent_role", "target_role", "task_id", "run_id", "turn_id", "parent_run_id", "delegation_depth",
    "sender_risk", "human_approval_required", "sender_ticket_reference", "idempotency_key", "title", "revision",
    "content_digest", "state", "version", "changed_at", "check_attempts", "check_lease_until", "check_claimed_by",
    "outcome", "reasons", "severity", "first_finding", "finding_codes", "finding_count", "risk", "policy_version",
    "checked_at", "likeness", "judged_after", "round", "flagged_at", "review_deadline", "approvals_required",
    "approvals_given", "reopened", "approval_ticket_reference", "decided_at", "max_retries", "last_attempt",
    "round_attempts", "acknowledge_by", "not_before", "expected_return", "return_by",
)  # fmt: skip
_ASSIGNMENTS = ", ".join(f"{column} = %s" for column in MUTABLE)
UPDATE = f"UPDATE handoff SET {_ASSIGNMENTS} WHERE id = %s AND version = %s"  # noqa: S608 - CONFIG: fixed column names


@dataclass(frozen=True, slots=True)
class Move:
    """One event on a locked handoff whose other members the caller has already set."""

    handoff: Handoff
    event: Event
    actor: Actor
    at: datetime
    reason: str | None = None
    detail: JSONObject | None = None  # more facts for the audit entry's `after`
    action: str | None = None  # the audit action where it is not `handoff.<event>`


def lock(*, handoff_id: UUID) -> tuple[Handoff, datetime]:
    """The row, locked until the transaction ends, and the database's time after the lock."""
    try:
        handoff = Handoff.objects.select_for_update(of=("self",)).with_names().get(pk=handoff_id)
    except Handoff.DoesNotExist:
        raise NotFound("There is no such handoff.") from None
    return handoff, now()


def move(
    *,
    handoff: Handoff,
    event: Event,
    actor: Actor,
    at: datetime,
    reason: str | None = None,
    detail: JSONObject | None = None,
    action: str | None = None,
) -> None:
    """Take one edge of the machine: state, version and audit entry in the caller's transaction."""
    move_many([Move(handoff, event, actor, at, reason, detail, action)])


def move_many(moves: Sequence[Move]) -> None:
    """Take many edges with one round trip for the rows and one for the audit. Raises IllegalTransition."""
    entries = []
    for item in moves:
        before = State(item.handoff.state)
        after = next_state(before, item.event)
        item.handoff.state = after.value
        entries.append(
            audit.Entry(
                action=item.action or f"handoff.{item.event.value}",
                actor=item.actor,
                subject=("handoff", str(item.handoff.pk)),
                at=item.at,
                reason=item.reason,
                before={"state": before.value},
                after={"state": after.value, **facts(item.handoff), **(item.detail or {})},
                policy_version=item.handoff.policy_version,
            )
        )
    write(handoffs=[(item.handoff, item.at) for item in moves])
    audit.record_many(entries)


def facts(handoff: Handoff) -> JSONObject:
    """What every entry about a handoff says of its content."""
    return {
        "checkpoint_id": handoff.checkpoint_id,
        "revision": handoff.revision,
        "content_digest": handoff.content_digest,
    }


def write(*, handoffs: Sequence[tuple[Handoff, datetime]]) -> None:
    """Save changed rows without an edge (a claim, an approval count): each gets a new version."""
    rows = []
    for handoff, at in handoffs:
        handoff.version += 1
        handoff.changed_at = at
        rows.append([*(getattr(handoff, column) for column in MUTABLE), handoff.pk, handoff.version - 1])
    with connection.cursor() as cursor:
        cursor.executemany(UPDATE, rows)
        if cursor.rowcount != len(rows):
            raise RuntimeError(f"{len(rows) - cursor.rowcount} handoff rows changed under their lock")


def announce(*, handoff_ids: Sequence[UUID]) -> None:
    """Wake the waiters of these handoffs when this transaction commits. Never called on ingest."""
    with connection.cursor() as cursor:
        for start in range(0, len(handoff_ids), 200):  # a payload holds at most 8000 bytes
            chunk = ",".join(str(item) for item in handoff_ids[start : start + 200])
            cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, chunk])
