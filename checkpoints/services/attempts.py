"""How an attempt ends: acknowledged, failed, refused, timed out or cancelled (contract §4)."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import DatabaseError, transaction

from checkpoints.errors import Conflict, IllegalTransition, NotFound
from checkpoints.faults import fault
from checkpoints.handoffs.machine import Event, allowed
from checkpoints.handoffs.retries import backoff_seconds
from checkpoints.models import TERMINAL, Attempt, Handoff, Orchestrator
from checkpoints.services import audit
from checkpoints.services.clock import now
from checkpoints.services.policy import rules_of
from checkpoints.services.review_round import begin
from checkpoints.services.revocation import revoke
from checkpoints.services.transition import announce, facts, lock, move
from checkpoints.types import Actor, CheckPolicy, State

log = structlog.get_logger("checkpoints.attempts")

SWEEPER = Actor(kind="system", id="system:sweep", label="Deadline sweep")
OPEN_FOR_ACK = (State.DISPATCHED.value, State.RECOVERABLE.value, State.ESCALATED.value)


def access(*, orchestrator: Orchestrator, checkpoint_id: str) -> tuple[Handoff, datetime]:
    """An orchestrator's own handoff, locked. Missing and foreign look the same: NotFound."""
    found = Handoff.objects.filter(orchestrator=orchestrator, checkpoint_id=checkpoint_id)
    handoff_id = found.values_list("pk", flat=True).first()
    if handoff_id is None:
        raise NotFound(f"There is no handoff with checkpoint_id {checkpoint_id[:64]!r} for this token.")
    return lock(handoff_id=handoff_id)


def acknowledge(
    *,
    orchestrator: Orchestrator,
    checkpoint_id: str,
    attempt: int,
    content_digest: str | None,
    receiver: str | None,
    actor: Actor,
) -> UUID:
    """The receiver took over. Late ones count while theirs is the newest attempt; repeats change nothing.

    Raises NotFound `attempt-not-found`, Conflict `digest-mismatch` or `attempt-superseded`.
    """
    with transaction.atomic(durable=True):
        handoff, at = access(orchestrator=orchestrator, checkpoint_id=checkpoint_id)
        problem = _acknowledge(handoff, attempt, content_digest, receiver, actor, at)
        fault("ack.before_commit")
    fault("ack.after_commit")
    if problem:
        raise problem
    return handoff.pk


def _acknowledge(
    handoff: Handoff,
    number: int,
    content_digest: str | None,
    receiver: str | None,
    actor: Actor,
    at: datetime,
) -> Conflict | NotFound | None:
    row = handoff.attempts.filter(number=number).first()
    if row is None:
        audit.record(_bypass(handoff, number, receiver, actor, at))
        return _unknown_attempt(handoff, number)
    if content_digest is not None and content_digest != row.content_digest:
        if handoff.state == State.DISPATCHED.value and number == handoff.last_attempt:
            row.mismatched = True
            _end(row, "failed", at, detail=f"acknowledged with digest {content_digest}")
            _to_a_person(handoff, Event.MISMATCH, actor, at, number, content_digest)
        elif handoff.state == State.RECOVERABLE.value and number == handoff.last_attempt:
            row.mismatched = True
            _end(row, "failed", at, detail=f"acknowledged late with digest {content_digest}")
            _to_a_person(handoff, Event.ESCALATE, actor, at, number, content_digest)
        else:
            audit.record(_mismatch(handoff, number, content_digest, actor, at))
        return Conflict(
            f"Attempt {number} carried content {row.content_digest}, and the receiver acknowledged "
            f"{content_digest}. A person has to look before this goes on.",
            slug="digest-mismatch",
            extra={"expected": row.content_digest, "received": content_digest, "state": handoff.state},
        )
    if number != handoff.last_attempt:
        return superseded(handoff, number)
    if handoff.state == State.ACKNOWLEDGED.value:
        return None
    speaks = row.outcome in (None, "timed_out", "failed") and not row.mismatched
    if handoff.state not in OPEN_FOR_ACK or not speaks or row.revision != handoff.revision:
        return not_possible(handoff, "acknowledged")
    late = row.ended_at is not None
    _end(row, "acknowledged", at, receiver=receiver)
    handoff.acknowledge_by = None
    handoff.not_before = None
    if handoff.expected_return:
        handoff.return_by = at + timedelta(seconds=_policy(handoff).handoff_timeout_seconds)
    move(
        handoff=handoff,
        event=Event.ACKNOWLEDGE,
        actor=actor,
        at=at,
        detail={"attempt": number, "receiver": receiver, "late": late},
    )
    announce(handoff_ids=[handoff.pk])
    return None


def _to_a_person(
    handoff: Handoff, event: Event, actor: Actor, at: datetime, number: int, received_digest: str
) -> None:
    """The receiver took other content than was sent: nothing goes on before somebody looked."""
    begin(handoff=handoff, policy=_policy(handoff), at=at)
    handoff.acknowledge_by = None
    handoff.not_before = None
    move(
        handoff=handoff,
        event=event,
        actor=actor,
        at=at,
        detail={"attempt": number, "received_digest": received_digest},
    )
    announce(handoff_ids=[handoff.pk])


def _mismatch(handoff: Handoff, number: int, received_digest: str, actor: Actor, at: datetime) -> audit.Entry:
    return audit.Entry(
        action="handoff.mismatch_reported",
        actor=actor,
        subject=("handoff", str(handoff.pk)),
        at=at,
        after={
            **facts(handoff),
            "attempt": number,
            "received_digest": received_digest,
            "state": handoff.state,
        },
        policy_version=handoff.policy_version,
    )


def fail(
    *, orchestrator: Orchestrator, checkpoint_id: str, attempt: int, kind: str, detail: str, actor: Actor
) -> UUID:
    """The attempt failed; it used a retry. `kind` is error, crashed or timed_out. Repeats change nothing."""
    with transaction.atomic(durable=True):
        handoff, at = access(orchestrator=orchestrator, checkpoint_id=checkpoint_id)
        row = _in_flight_or_repeated(handoff, attempt, ("failed", "timed_out"))
        if row is not None:
            outcome = "timed_out" if kind == "timed_out" else "failed"
            _lose(handoff, row, outcome, f"{kind}: {detail}" if detail else kind, actor, at)
            fault("fail.before_commit")
    fault("fail.after_commit")
    return handoff.pk


def refuse(
    *, orchestrator: Orchestrator, checkpoint_id: str, attempt: int, reason: str, actor: Actor
) -> UUID:
    """The receiver declined. A person looks again; no retry is used."""
    with transaction.atomic(durable=True):
        handoff, at = access(orchestrator=orchestrator, checkpoint_id=checkpoint_id)
        row = _in_flight_or_repeated(handoff, attempt, ("refused",))
        if row is not None:
            _end(row, "refused", at, detail=reason)
            begin(handoff=handoff, policy=_policy(handoff), at=at)
            handoff.round_attempts = max(0, handoff.round_attempts - 1)
            handoff.acknowledge_by = None
            move(
                handoff=handoff,
                event=Event.REFUSE,
                actor=actor,
                at=at,
                reason=reason,
                detail={"attempt": attempt},
            )
            announce(handoff_ids=[handoff.pk])
            fault("refuse.before_commit")
    fault("refuse.after_commit")
    return handoff.pk


def cancel(*, orchestrator: Orchestrator, checkpoint_id: str, reason: str, actor: Actor) -> UUID:
    """The sender no longer wants the handoff: its attempt ends and its ticket is void. Repeats change nothing."""
    with transaction.atomic(durable=True):
        handoff, at = access(orchestrator=orchestrator, checkpoint_id=checkpoint_id)
        if handoff.state != State.CANCELLED.value:
            if handoff.state in TERMINAL:
                raise not_possible(handoff, "cancelled")
            close(handoff=handoff, actor=actor, at=at, reason=reason)
            move(handoff=handoff, event=Event.CANCEL, actor=actor, at=at, reason=reason)
            announce(handoff_ids=[handoff.pk])
            fault("cancel.before_commit")
    fault("cancel.after_commit")
    return handoff.pk


def close(*, handoff: Handoff, actor: Actor, at: datetime, reason: str | None = None) -> None:
    """End what is open around a locked handoff that is about to end: attempt in flight, tickets, times."""
    flying = handoff.attempts.filter(ended_at__isnull=True).first()
    if flying:
        _end(flying, "cancelled", at, detail=reason or "")
    revoke(handoff=handoff, actor=actor, at=at, reason=reason)
    handoff.acknowledge_by = None
    handoff.not_before = None


def end_overdue_attempt(*, handoff: Handoff, at: datetime) -> None:
    """Deadlines count when somebody looks, not when the sweep comes by."""
    if handoff.state == State.DISPATCHED.value and handoff.acknowledge_by and at >= handoff.acknowledge_by:
        row = handoff.attempts.get(ended_at__isnull=True)
        _lose(handoff, row, "timed_out", "no acknowledgement in time", SWEEPER, at)


def sweep_overdue_attempts(*, limit: int = 500) -> int:
    """Time out the attempts whose acknowledgement is overdue. Safe to run twice at once. Returns how many."""
    due = Handoff.objects.filter(state=State.DISPATCHED, acknowledge_by__lte=now()).order_by("acknowledge_by")
    count = 0
    for handoff_id in list(due.values_list("pk", flat=True)[:limit]):
        try:
            with transaction.atomic(durable=True):
                handoff, at = lock(handoff_id=handoff_id)
                before = handoff.state
                end_overdue_attempt(handoff=handoff, at=at)
                fault("timeout.before_commit")
            fault("timeout.after_commit")
            count += handoff.state != before
        except DatabaseError:  # one row that is held or broken must not keep the others waiting
            log.exception("sweep.row_failed", handoff_id=str(handoff_id))
    return count


def _lose(handoff: Handoff, row: Attempt, outcome: str, detail: str, actor: Actor, at: datetime) -> None:
    """A lost attempt: recoverable while retries are left, else escalated to a person."""
    policy = _policy(handoff)
    _end(row, outcome, at, detail=detail)
    handoff.acknowledge_by = None
    if handoff.retries_left > 0:
        wait = backoff_seconds(schedule=policy.retry_backoff_seconds, attempts=handoff.round_attempts)
        handoff.not_before = at + timedelta(seconds=wait)
        event = Event.TIME_OUT if outcome == "timed_out" else Event.FAIL
    else:
        begin(handoff=handoff, policy=policy, at=at)
        event = Event.EXHAUST
    role = policy.roles.get(handoff.target_role or "")
    move(
        handoff=handoff,
        event=event,
        actor=actor,
        at=at,
        reason=detail,
        detail={
            "attempt": row.number,
            "outcome": outcome,
            "retries_left": handoff.retries_left,
            "fallback_role": role.fallback_role if role else None,
        },
    )
    announce(handoff_ids=[handoff.pk])


def _in_flight_or_repeated(handoff: Handoff, number: int, same: tuple[str, ...]) -> Attempt | None:
    """The attempt in flight; None where this very report was made before."""
    row = handoff.attempts.filter(number=number).first()
    if row is None:
        raise _unknown_attempt(handoff, number)
    if number != handoff.last_attempt:
        raise superseded(handoff, number)
    if row.ended_at is None:
        return row
    if row.outcome in same:
        return None
    raise not_possible(handoff, same[0])


def _end(row: Attempt, outcome: str, at: datetime, *, detail: str = "", receiver: str | None = None) -> None:
    row.outcome = outcome
    row.ended_at = at
    row.detail = detail or row.detail
    row.receiver = receiver or row.receiver
    row.save(update_fields=["outcome", "ended_at", "detail", "receiver", "mismatched"])


def _policy(handoff: Handoff) -> CheckPolicy:
    return rules_of(version=handoff.policy_version)


def _bypass(handoff: Handoff, number: int, receiver: str | None, actor: Actor, at: datetime) -> audit.Entry:
    return audit.Entry(
        action="handoff.bypassed",
        actor=actor,
        subject=("handoff", str(handoff.pk)),
        at=at,
        after={**facts(handoff), "attempt": number, "receiver": receiver, "state": handoff.state},
        policy_version=handoff.policy_version,
    )


def _unknown_attempt(handoff: Handoff, number: int) -> NotFound:
    return NotFound(
        f"Handoff {handoff.checkpoint_id} has no attempt {number}: the last one given out is "
        f"{handoff.last_attempt or 'none'}. Ask for an attempt with dispatch before sending anything.",
        slug="attempt-not-found",
    )


def superseded(handoff: Handoff, number: int) -> Conflict:
    return Conflict(
        f"Attempt {number} was superseded by attempt {handoff.last_attempt}.",
        slug="attempt-superseded",
        extra={"attempt": handoff.last_attempt, "state": handoff.state},
    )


def not_possible(handoff: Handoff, wanted: str) -> IllegalTransition:
    choices = allowed(State(handoff.state))
    return IllegalTransition(
        f"This handoff is {handoff.state} and cannot be {wanted}.",
        extra={"state": handoff.state, "allowed": list(choices)},
    )
