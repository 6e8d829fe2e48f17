"""The recovery point of a session, and what its orchestrator does next (contract §4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from checkpoints.errors import NotFound
from checkpoints.formats import reread
from checkpoints.handoffs.keys import derived_idempotency_key
from checkpoints.handoffs.reconciling import effects, outcomes_of
from checkpoints.handoffs.recovery import Newest, next_step, resume_context
from checkpoints.models import Action, CheckpointBody, Decision, Handoff, Orchestrator
from checkpoints.services.bodies import body_of
from checkpoints.services.clock import now
from checkpoints.services.deadlines import settle
from checkpoints.services.policy import rules_of
from checkpoints.services.round_answers import reconciliations
from checkpoints.types import JSONObject, State, rfc3339

# The highest sequence of which a revision was let through: cleared by its checks, approved with a ticket that was not
# taken back before its use, or sent. What was aborted or cancelled is no recovery point.
SNAPSHOT = """
    SELECT h.id, greatest(cleared.revision, ticketed.revision, sent.revision) FROM handoff h
    LEFT JOIN LATERAL (
        SELECT 1 AS revision FROM check_run r
        WHERE r.handoff_id = h.id AND r.revision = 1 AND r.complete AND r.outcome = 'cleared' LIMIT 1
    ) cleared ON true
    LEFT JOIN LATERAL (
        SELECT max(t.revision) AS revision FROM ticket t
        WHERE t.handoff_id = h.id AND (t.revoked_at IS NULL OR t.redeemed_at IS NOT NULL)
    ) ticketed ON true
    LEFT JOIN LATERAL (SELECT max(a.revision) AS revision FROM attempt a WHERE a.handoff_id = h.id) sent ON true
    WHERE h.session_id = %s AND h.state NOT IN ('received', 'rejected', 'aborted', 'cancelled')
        AND coalesce(cleared.revision, ticketed.revision, sent.revision) IS NOT NULL
    ORDER BY h.handoff_sequence DESC LIMIT 1
"""
LAST_WORD = (Action.ABORT.value, Action.SEND_BACK.value)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A handoff and the revision of it that was let through."""

    handoff: Handoff
    revision: int


def recovery(*, orchestrator: Orchestrator, session_id: str) -> JSONObject:
    """What the API answers. Raises NotFound for a session without handoffs."""
    in_session = Handoff.objects.of(orchestrator).filter(session__session_id=session_id)
    newest, at = _newest(orchestrator, session_id)
    if newest is None and not in_session.exists():
        raise NotFound("There is no such session for this token.")
    session_pk = in_session.values_list("session_id", flat=True)[0]
    snapshot = _snapshot(session_pk)
    word = _last_word(newest)
    step = next_step(_described(newest, word), at)
    pending = newest if newest and (snapshot is None or snapshot.handoff.pk != newest.pk) else None
    return {
        "action": step.action,
        "reason": step.reason,
        "question": word.question if word else None,
        **_snapshot_members(snapshot),
        "pending": {
            "checkpoint_id": pending.checkpoint_id,
            "handoff_sequence": pending.handoff_sequence,
            "state": pending.state,
        }
        if pending
        else None,
    }


def _newest(orchestrator: Orchestrator, session_id: str) -> tuple[Handoff | None, datetime]:
    """The newest handoff that still says something, its deadlines settled, and the database's time."""
    said_something = Decision.objects.filter(handoff=OuterRef("pk"), action__in=LAST_WORD).filter(
        ~Q(advice="none") | Q(question__isnull=False)
    )
    rows = (
        Handoff.objects.of(orchestrator)
        .with_names()
        .read_now()
        .filter(session__session_id=session_id)
        .exclude(state=State.CANCELLED)
        .exclude(Q(state=State.ABORTED) & ~Exists(said_something))
        .order_by("-handoff_sequence")
    )
    newest = rows.first()
    if newest is not None and settle(handoff=newest, at=newest.read_at):
        newest = rows.first()
    return newest, newest.read_at if newest else now()


def _last_word(newest: Handoff | None) -> Decision | None:
    if newest is None or newest.state != State.ABORTED.value:
        return None
    return Decision.objects.filter(handoff=newest, action__in=LAST_WORD).order_by("-at").first()


def _described(newest: Handoff | None, word: Decision | None) -> Newest | None:
    if newest is None:
        return None
    return Newest(
        checkpoint_id=newest.checkpoint_id,
        state=State(newest.state),
        not_before=newest.not_before,
        acknowledge_by=newest.acknowledge_by,
        advice=word.advice if word else "none",
        question=word.question if word else None,
        fallback_role=_fallback_role(newest, newest.target_role),
    )


def _snapshot(session_pk: int) -> Snapshot | None:
    with connection.cursor() as cursor:
        cursor.execute(SNAPSHOT, [session_pk])
        row: tuple[UUID, int] | None = cursor.fetchone()
    if row is None:
        return None
    return Snapshot(Handoff.objects.with_names().get(pk=row[0]), row[1])


def _snapshot_members(snapshot: Snapshot | None) -> JSONObject:
    members: JSONObject = dict.fromkeys(
        (
            "not_before", "checkpoint_id", "handoff_sequence", "revision", "next_attempt", "retries_left", "payload",
            "content_digest", "idempotency_key", "rollback_notes", "already_committed", "needs_reconciliation",
            "reconciliations", "fallback_role",
        )
    )  # fmt: skip
    if snapshot is None:
        return members
    handoff = snapshot.handoff
    try:
        submission = reread(body_of(handoff=handoff, revision=snapshot.revision))
    except CheckpointBody.DoesNotExist:
        raise NotFound(
            f"The bytes of {handoff.checkpoint_id} were deleted after their period: nothing is left to recover from."
        ) from None
    facts = submission.facts
    found = reconciliations(handoff=handoff, revision=snapshot.revision)
    outcomes = outcomes_of(found)
    known = effects(facts, outcomes)
    return members | {
        "not_before": rfc3339(handoff.not_before) if handoff.not_before else None,
        "checkpoint_id": handoff.checkpoint_id,
        "handoff_sequence": handoff.handoff_sequence,
        "revision": snapshot.revision,
        "next_attempt": handoff.last_attempt + 1,
        "retries_left": handoff.retries_left,
        "payload": submission.payload,
        "content_digest": submission.content_digest,
        "idempotency_key": facts.idempotency_key
        or derived_idempotency_key(handoff.session.session_id, handoff.handoff_sequence, facts.task_id),
        "rollback_notes": facts.rollback_notes,
        "already_committed": list(known.committed),
        "needs_reconciliation": list(known.unknown),
        "reconciliations": [*found],
        "fallback_role": _fallback_role(handoff, facts.target_role),
        **(resume_context(submission, outcomes) or {}),
    }


def _fallback_role(handoff: Handoff, target_role: str | None) -> str | None:
    role = rules_of(version=handoff.policy_version).roles.get(target_role or "")
    return role.fallback_role if role else None
