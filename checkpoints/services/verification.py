"""The drain: claim unjudged rows, check them outside any transaction, write verdicts fenced (contract §12)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction

from checkpoints.faults import fault
from checkpoints.formats import reread
from checkpoints.handoffs.likeness import likeness
from checkpoints.models import CheckpointBody, Handoff
from checkpoints.services.bodies import current_body
from checkpoints.services.history import Case, collect_many
from checkpoints.services.policy import ActivePolicy, active
from checkpoints.services.transition import announce
from checkpoints.services.verdict import Judged, exhausted, judge_row, write_verdicts
from checkpoints.types import CheckPolicy, State

log = structlog.get_logger("checkpoints.verification")

# Two posts sent at once may arrive in either order. A row that leaves a gap waits this long for the one before it,
# lest that one be called a fork (HC-45). A session may begin anywhere, so its first row waits only as number 2.
GAP_SECONDS = 0.5
_LOOK_SECONDS = 0.02  # how often a drain looks for the one before
_FOLLOWS = """
    (received_at < clock_timestamp() - make_interval(secs => %(gap)s)
    OR handoff_sequence = 1
    OR EXISTS (
        SELECT FROM handoff before WHERE before.session_id = handoff.session_id
            AND before.handoff_sequence = handoff.handoff_sequence - 1
    )
    OR (handoff_sequence <> 2 AND NOT EXISTS (
        SELECT FROM handoff before WHERE before.session_id = handoff.session_id
            AND before.handoff_sequence < handoff.handoff_sequence
    )))
"""
# A row is due when nobody holds it, no earlier row of its session waits for its verdict, and it follows on.
FIRST = """
    state = 'received'
    AND (check_lease_until IS NULL OR check_lease_until < clock_timestamp())
    AND NOT EXISTS (
        SELECT FROM handoff earlier
        WHERE earlier.session_id = handoff.session_id AND earlier.state = 'received'
            AND earlier.handoff_sequence < handoff.handoff_sequence
    )
"""
DUE = f"{FIRST} AND {_FOLLOWS}"
AWAITED = "SELECT EXISTS (SELECT FROM handoff WHERE {first} AND check_attempts < %(tries)s)"
CLAIM = """
    UPDATE handoff SET check_attempts = check_attempts + 1, check_claimed_by = %(key)s,
        check_lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
    WHERE id IN (
        SELECT id FROM handoff WHERE {among} {due} AND check_attempts {tried}
        ORDER BY check_attempts, received_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING id, check_attempts
"""
# Looking for due rows passes every row that waits for an earlier one of its session. So a drain goes on where it is:
# the next rows of the sessions that it just judged are found by one step down an index each.
NEXT_OF_SESSIONS = """
    id IN (
        SELECT following.id FROM unnest(%(sessions)s::bigint[]) AS judged (session_id) CROSS JOIN LATERAL (
            SELECT id FROM handoff WHERE handoff.session_id = judged.session_id AND state = 'received'
            ORDER BY handoff_sequence LIMIT 1
        ) following
    ) AND
"""
FOLLOWED = 32  # times in a row, then everybody's oldest rows have their turn
# A claim outlives its drain only when the drain's process died: its advisory lock is gone with it.
RELEASE_ORPHANS = """
    UPDATE handoff SET check_lease_until = NULL, check_claimed_by = NULL
    WHERE state = 'received' AND check_claimed_by IS NOT NULL AND NOT EXISTS (
        SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1
            AND (classid::bigint << 32) | objid::bigint = handoff.check_claimed_by
    )
"""
TRIES = 3


@dataclass(frozen=True, slots=True)
class Claimed:
    """A row that this drain holds: its write is refused once the attempt number moved on."""

    handoff: Handoff
    attempt: int
    body: bytes


def drain(*, count_tokens: Callable[[str], int] | None = None, seconds: float = 4.0) -> int:
    """Judge what is due until nothing is or will be in a moment, or `seconds` are over.

    Returns the number of verdicts written. A row that was tried before runs alone, so that a document which kills
    its process takes nobody with it a second time; after three tries it is flagged with SYS-02.
    """
    stop = time.monotonic() + seconds
    verdicts = 0
    with _presence() as key:
        while time.monotonic() < stop:
            verdicts += give_up()
            fresh = claim(key=key, limit=settings.DRAIN_BATCH, tried="= 0")
            if fresh:
                verdicts += _judge_on(key, fresh, count_tokens, stop)
            # In turns: a stream of new rows must not keep back those that were tried before.
            again = claim(key=key, limit=1, tried=f"BETWEEN 1 AND {TRIES - 1}")
            if again:
                verdicts += judge_batch(again, count_tokens=count_tokens)
            if fresh or again:
                continue
            if not _awaits_another():
                break
            time.sleep(_LOOK_SECONDS)
    return verdicts


def _judge_on(key: int, batch: list[Claimed], count_tokens: Callable[[str], int] | None, stop: float) -> int:
    """Judge these rows and those that follow in their sessions, for some rounds. Returns the number of verdicts."""
    verdicts = judge_batch(batch, count_tokens=count_tokens)
    for _ in range(FOLLOWED):
        sessions = [item.handoff.session_id for item in batch]
        if time.monotonic() > stop:
            break
        batch = claim(key=key, limit=settings.DRAIN_BATCH, tried="= 0", sessions=sessions)
        if not batch:
            break
        verdicts += judge_batch(batch, count_tokens=count_tokens)
    return verdicts


def _awaits_another() -> bool:
    """Whether a row waits for the one before it, or has just waited long enough."""
    with connection.cursor() as cursor:
        cursor.execute(AWAITED.format(first=FIRST), {"tries": TRIES})
        return bool(cursor.fetchone()[0])


@contextmanager
def _presence() -> Iterator[int]:
    """Hold a session-level advisory lock while claims of this drain are out: its end proves our death."""
    key = secrets.randbits(62)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [key])
    try:
        yield key
    finally:
        if connection.connection is not None and not connection.connection.closed:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])


def release_orphans() -> int:
    """Free the claims of drains whose process is gone. Returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(RELEASE_ORPHANS)
        return int(cursor.rowcount)


def claim(*, key: int, limit: int, tried: str, sessions: list[int] | None = None) -> list[Claimed]:
    """Take due rows in one short transaction: attempt + 1 and a lease. `sessions` (keys) narrows it to theirs."""
    among = "" if sessions is None else NEXT_OF_SESSIONS
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute(
            CLAIM.format(among=among, due=DUE, tried=tried),
            {
                "key": key,
                "lease": settings.CHECK_LEASE_SECONDS,
                "limit": limit,
                "gap": GAP_SECONDS,
                "sessions": sessions,
            },
        )
        attempts: dict[UUID, int] = dict(cursor.fetchall())
        if attempts:
            fault("drain.before_claim")
    if not attempts:
        return []
    fault("drain.after_claim")
    rows = {row.pk: row for row in Handoff.objects.with_names().filter(pk__in=attempts)}
    bodies = CheckpointBody.objects.filter(checkpoint__handoff__in=attempts, checkpoint__revision=1)
    return [
        Claimed(rows[pk], attempts[pk], bytes(content))
        for pk, content in bodies.values_list("checkpoint__handoff_id", "content")
    ]


def judge_batch(batch: list[Claimed], *, count_tokens: Callable[[str], int] | None = None) -> int:
    """Check each row outside any transaction, then write all verdicts in one commit."""
    policy = _policy()
    compiled = policy.compiled if policy else CheckPolicy()
    cases = [
        Case(item.handoff, submission, likeness(submission))
        for item, submission in ((item, reread(item.body)) for item in batch)
    ]
    contexts = collect_many(cases=cases, policy=compiled, count_tokens=count_tokens)
    judged = [
        judge_row(case, item.attempt, contexts[item.handoff.pk], policy)
        for item, case in zip(batch, cases, strict=True)
    ]
    fault("drain.before_write")
    return _write(judged)


def give_up() -> int:
    """Flag with SYS-02 the rows whose three tries died. Returns how many."""
    overdue = list(
        Handoff.objects.with_names()
        .filter(state=State.RECEIVED, check_attempts__gte=TRIES)
        .extra(where=["(check_lease_until IS NULL OR check_lease_until < clock_timestamp())"])[:100]
    )
    if not overdue:
        return 0
    policy = _policy()
    verdicts = 0
    for handoff in overdue:  # each alone: whatever is wrong with one must not keep the others waiting
        try:
            verdicts += _write([exhausted(handoff, current_body(handoff=handoff), policy)])
        except Exception:
            log.exception("verdict.not_given_up", handoff_id=str(handoff.pk))
    return verdicts


def _policy() -> ActivePolicy | None:
    """None where the stored policy cannot be read: everything is flagged with SYS-03 then."""
    try:
        return active(fresh=True)
    except Exception:
        log.exception("policy.unreadable")
        return None


def _write(judged: list[Judged]) -> int:
    """One commit; rows that were cancelled or taken over meanwhile are left alone."""
    started = time.monotonic()
    with transaction.atomic(durable=True):
        locked = {
            row.pk: row
            for row in Handoff.objects.select_for_update(of=("self",))
            .with_names()
            .filter(pk__in=[item.handoff_id for item in judged], state=State.RECEIVED)
            .order_by("pk")
        }
        current = [
            item
            for item in judged
            if item.handoff_id in locked and locked[item.handoff_id].check_attempts == item.attempt
        ]
        if current:
            write_verdicts(current, locked)
            announce(handoff_ids=[item.handoff_id for item in current])
            fault("drain.before_commit")
    fault("drain.after_commit")
    storage_ms = round((time.monotonic() - started) * 1000, 2)
    for item in judged:
        if item in current:
            _log(item, locked[item.handoff_id], storage_ms)
        else:
            log.warning("verdict.discarded", handoff_id=str(item.handoff_id), attempt=item.attempt)
    return len(current)


def _log(item: Judged, handoff: Handoff, storage_ms: float) -> None:
    log.info(
        "handoff.judged",
        checkpoint_id=handoff.checkpoint_id,
        session_id=handoff.session.session_id,
        handoff_sequence=handoff.handoff_sequence,
        agent_id=handoff.agent_id,
        document_tokens=item.judgement.document_tokens,
        outcome=item.judgement.outcome.value,
        reasons=[reason.value for reason in item.judgement.reasons],
        policy_version=item.policy_version,
        check_ms=item.check_ms,
        storage_ms=storage_ms,
    )


def waiting_since() -> datetime | None:
    """When the oldest unjudged row came in, for health and metrics."""
    return Handoff.objects.unjudged().order_by("received_at").values_list("received_at", flat=True).first()
