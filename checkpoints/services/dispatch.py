"""Asking for an attempt: the one door through which a handoff goes out (contract §4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from checkpoints.errors import Conflict
from checkpoints.faults import fault
from checkpoints.formats import reread
from checkpoints.handoffs.keys import derived_idempotency_key
from checkpoints.handoffs.machine import Event
from checkpoints.handoffs.reconciling import effects, outcomes_of
from checkpoints.models import Attempt, CheckRun, Handoff, Orchestrator, Ticket
from checkpoints.services import audit
from checkpoints.services.attempts import access, end_overdue_attempt
from checkpoints.services.bodies import current_body
from checkpoints.services.policy import rules_of
from checkpoints.services.redemption import TicketMismatch, TicketTooOld, redeem
from checkpoints.services.review_round import begin
from checkpoints.services.revocation import revoke
from checkpoints.services.round_answers import answers_of_round
from checkpoints.services.transition import announce, facts, move
from checkpoints.types import (
    Actor,
    CheckPolicy,
    Disposition,
    JSONObject,
    JSONValue,
    State,
    Submission,
    rfc3339,
)

DISPATCHABLE = (State.CLEARED, State.APPROVED, State.RECOVERABLE)
_SENT_BACK_TO_REVIEW = {TicketTooOld: Event.EXPIRE_TICKET, TicketMismatch: Event.FAIL_RECHECK}


@dataclass(frozen=True, slots=True)
class _Flagged:
    """The handoff went back to review in this transaction; the caller is told after the commit."""

    problem: Conflict


def dispatch(*, orchestrator: Orchestrator, checkpoint_id: str, key: str | None, actor: Actor) -> JSONObject:
    """Start an attempt and return what the receiver gets. One attempt is in flight at a time.

    Raises Conflict: `not-dispatchable`, `attempt-in-flight`, `attempt-superseded`; NotFound; Unavailable without
    a signer.
    """
    with transaction.atomic(durable=True):
        handoff, at = access(orchestrator=orchestrator, checkpoint_id=checkpoint_id)
        end_overdue_attempt(handoff=handoff, at=at)
        repeated = _repeat(handoff, key, at)
        answer = repeated or _start(handoff, key, actor, at)
        fault("dispatch.before_commit")
    fault("dispatch.after_commit")
    if isinstance(answer, _Flagged):
        raise answer.problem
    return answer


def _repeat(handoff: Handoff, key: str | None, at: datetime) -> JSONObject | None:
    """The same answer to the same key while its attempt is in flight."""
    flying = handoff.attempts.filter(ended_at__isnull=True).first()
    if key and flying and flying.idempotency_key == key:
        return _answer(handoff, flying)
    if key and handoff.attempts.filter(idempotency_key=key).exists():
        raise Conflict(
            "The attempt that this Idempotency-Key started has ended. Ask with a new key for the next attempt.",
            slug="attempt-superseded",
            extra={"state": handoff.state, "attempt": handoff.last_attempt},
        )
    if flying:
        raise Conflict(
            f"Attempt {flying.number} is in flight until {rfc3339(flying.acknowledge_by)}. "
            "Acknowledge it, report its failure, or wait.",
            slug="attempt-in-flight",
            extra={"attempt": flying.number, "acknowledge_by": rfc3339(flying.acknowledge_by)},
            retry_after=_seconds_until(flying.acknowledge_by, at),
        )
    return None


def _start(handoff: Handoff, key: str | None, actor: Actor, at: datetime) -> JSONObject | _Flagged:
    _refuse_unless_dispatchable(handoff, at)
    policy = rules_of(version=handoff.policy_version)
    number = handoff.last_attempt + 1
    submission = _stored(handoff)
    try:
        if submission.content_digest != handoff.content_digest:
            raise TicketMismatch(
                "The stored bytes no longer have the digest that was cleared or approved. Nothing was sent; "
                "the handoff waits in the review queue."
            )
        ticket = (
            redeem(
                handoff=handoff,
                attempt=number,
                content_digest=submission.content_digest,
                policy=policy,
                actor=actor,
                at=at,
            )
            if handoff.approval_ticket_reference
            else None
        )
    except (TicketTooOld, TicketMismatch) as problem:
        return _back_to_review(handoff, problem, policy, actor, at)
    handoff.last_attempt = number
    handoff.round_attempts += 1
    handoff.not_before = None
    handoff.acknowledge_by = at + timedelta(seconds=policy.handoff_timeout_seconds)
    attempt = Attempt.objects.create(
        handoff=handoff,
        number=number,
        revision=handoff.revision,
        content_digest=handoff.content_digest,
        idempotency_key=key,
        dispatched_at=at,
        acknowledge_by=handoff.acknowledge_by,
        answer={"retries_left": handoff.retries_left},
    )
    move(handoff=handoff, event=Event.DISPATCH, actor=actor, at=at, detail={"attempt": number})
    announce(handoff_ids=[handoff.pk])
    return _answer(handoff, attempt, submission=submission, ticket=ticket)


def _refuse_unless_dispatchable(handoff: Handoff, at: datetime) -> None:
    state = State(handoff.state)
    if state not in DISPATCHABLE:
        waits = {
            State.RECEIVED: "Its checks have not finished.",
            State.FLAGGED: "A person has to decide first.",
            State.ESCALATED: "A person has to decide first.",
        }
        raise Conflict(
            f"This handoff is {state.value} and cannot be dispatched. {waits.get(state, 'It has ended.')}",
            slug="not-dispatchable",
            extra={"state": state.value},
            retry_after=1 if state is State.RECEIVED else None,
        )
    if handoff.not_before and at < handoff.not_before:
        raise Conflict(
            f"The next attempt may start at {rfc3339(handoff.not_before)}, not before.",
            slug="not-dispatchable",
            extra={"state": state.value, "not_before": rfc3339(handoff.not_before)},
            retry_after=_seconds_until(handoff.not_before, at),
        )


def _back_to_review(
    handoff: Handoff, problem: Conflict, policy: CheckPolicy, actor: Actor, at: datetime
) -> _Flagged:
    """A person has to look: approved goes back to flagged, recoverable is escalated; the caller is told.

    A cleared one has no edge to a person. It stays where it is, goes nowhere, and its entry says why.
    """
    told = Conflict(problem.detail, slug="not-dispatchable")
    if handoff.state == State.CLEARED.value:
        audit.record(
            audit.Entry(
                action="handoff.held",
                actor=actor,
                subject=("handoff", str(handoff.pk)),
                at=at,
                reason=problem.detail,
                after=facts(handoff),
                policy_version=handoff.policy_version,
            )
        )
    else:
        approved = handoff.state == State.APPROVED.value
        event = _SENT_BACK_TO_REVIEW[type(problem)] if approved else Event.ESCALATE
        revoke(handoff=handoff, actor=actor, at=at, reason=problem.detail)
        begin(handoff=handoff, policy=policy, at=at)
        move(handoff=handoff, event=event, actor=actor, at=at, reason=problem.detail)
        announce(handoff_ids=[handoff.pk])
    told.extra = {"state": handoff.state, "problem": problem.slug}
    return _Flagged(told)


def _stored(handoff: Handoff) -> Submission:
    return reread(current_body(handoff=handoff))


def _answer(
    handoff: Handoff,
    attempt: Attempt,
    *,
    submission: Submission | None = None,
    ticket: Ticket | None = None,
) -> JSONObject:
    """What contract §4 promises of dispatch; a repeat gets the same from the same rows."""
    submission = submission or _stored(handoff)
    if ticket is None and handoff.approval_ticket_reference:
        ticket = Ticket.objects.get(reference=handoff.approval_ticket_reference)
    run = CheckRun.objects.filter(handoff=handoff, revision=attempt.revision).order_by("-finished_at").first()
    findings: list[JSONValue] = run.findings if run else []
    said = answers_of_round(handoff=handoff, number=handoff.round)
    known = effects(submission.facts, outcomes_of(said.reconciliations))
    return {
        "attempt": attempt.number,
        "checkpoint_id": handoff.checkpoint_id,
        "session_id": handoff.session.session_id,
        "handoff_sequence": handoff.handoff_sequence,
        "target_role": handoff.target_role,
        "revision": attempt.revision,
        "content_digest": attempt.content_digest,
        "payload": submission.payload,
        "idempotency_key": submission.facts.idempotency_key
        or derived_idempotency_key(
            handoff.session.session_id, handoff.handoff_sequence, submission.facts.task_id
        ),
        "warnings": [
            item
            for item in findings
            if isinstance(item, dict) and item["disposition"] == Disposition.WARN.value
        ],
        "already_committed": list(known.committed),
        "needs_reconciliation": list(known.unknown),
        "answers": [*said.answers],
        "reconciliations": [*said.reconciliations],
        "approval_ticket_reference": ticket.reference if ticket else None,
        "approval_ticket": ticket.token if ticket else None,
        "acknowledge_by": rfc3339(attempt.acknowledge_by),
        "retries_left": attempt.answer["retries_left"],
    }


def _seconds_until(moment: datetime, at: datetime) -> int:
    return max(1, int((moment - at).total_seconds()) + 1)
