"""What happened to the handoffs of a session: ticks, events and marks of each, from rows of one page at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from checkpoints.models import Attempt, AuditEntry, CheckRun, Decision, Handoff, Ticket
from checkpoints.types import State
from reviewqueue.pages import words
from reviewqueue.templatetags.review import DECIDED, still_working

AWAITING = (State.FLAGGED.value, State.ESCALATED.value)
ENDED = (State.ABORTED.value, State.CANCELLED.value, State.REJECTED.value)
MARKED = {
    "handoff.bypassed": "An acknowledgement came for an attempt that was never given out: the receiver was reached "
    "past this gate",
    "handoff.mismatch_reported": "Other content was acknowledged than was sent",
}


@dataclass(frozen=True, slots=True)
class Tick:
    """`mark` is done, open, bad or never; `text` is for people, `at` None where nothing happened yet."""

    name: str
    mark: str
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """`tone` is a class of the timeline. `what` is ours; `who` and `detail` are strangers' text.

    `who` stands before `what` where a person `acted`, else after it.
    """

    at: datetime
    tone: str
    what: str
    who: str = ""
    detail: str = ""
    ticket: str = ""
    acted: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A sentence without its full stop; `at` is its last word, where it has a time."""

    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """`marks` are what somebody should see without unfolding: bypasses, returns, receivers that may still work."""

    ticks: list[Tick]
    events: list[Event]
    marks: list[Mark] = field(default_factory=list)
    unfolded: bool = False


def stories(handoffs: Sequence[Handoff], at: datetime) -> dict[UUID, Story]:
    """Of one page of handoffs, in a fixed number of queries."""
    ids = [handoff.pk for handoff in handoffs]
    runs = _by_handoff(CheckRun.objects.filter(handoff__in=ids).defer("findings").order_by("finished_at"))
    attempts = _by_handoff(Attempt.objects.filter(handoff__in=ids).defer("answer").order_by("number"))
    decisions = _by_handoff(Decision.objects.filter(handoff__in=ids).order_by("at"))
    tickets = _by_handoff(Ticket.objects.filter(handoff__in=ids).defer("token").order_by("issued_at"))
    marked: dict[str, list[AuditEntry]] = defaultdict(list)
    for entry in AuditEntry.objects.filter(
        subject_kind="handoff", subject_id__in=[str(pk) for pk in ids], action__in=MARKED
    ).order_by("at"):
        marked[entry.subject_id].append(entry)
    return {
        handoff.pk: _story(
            handoff,
            runs[handoff.pk],
            attempts[handoff.pk],
            decisions[handoff.pk],
            tickets[handoff.pk],
            marked[str(handoff.pk)],
            at,
        )
        for handoff in handoffs
    }


def _by_handoff(rows: Any) -> dict[UUID, list[Any]]:
    found: dict[UUID, list[Any]] = defaultdict(list)
    for row in rows:
        found[row.handoff_id].append(row)
    return found


def _story(
    handoff: Handoff,
    runs: Sequence[CheckRun],
    attempts: Sequence[Attempt],
    decisions: Sequence[Decision],
    tickets: Sequence[Ticket],
    marked: Sequence[AuditEntry],
    at: datetime,
) -> Story:
    events = [
        Event(handoff.received_at, "open", "posted by", who=handoff.agent_id or ""),
        *_verdicts(handoff, runs),
        *(_decision(handoff, item) for item in decisions),
        *(event for ticket in tickets for event in _ticket(ticket)),
        *(event for attempt in attempts for event in _attempt(handoff, attempt)),
        *(Event(entry.at, "failed", MARKED[entry.action]) for entry in marked),
    ]
    events.sort(key=lambda event: event.at)  # sorted is stable: what one act wrote keeps its order
    marks = [Mark(text) for text in dict.fromkeys(MARKED[entry.action] for entry in marked)]
    marks += [*_still_working(handoff, attempts), *_return(handoff, at)]
    lost = any(attempt.outcome not in (None, "acknowledged") for attempt in attempts)
    return Story(_ticks(handoff, attempts), events, marks, unfolded=bool(decisions or marks or lost))


def _ticks(handoff: Handoff, attempts: Sequence[Attempt]) -> list[Tick]:
    last = attempts[-1] if attempts else None
    sent = Tick("dispatched", "never" if handoff.state in ENDED else "open", "not dispatched")
    if last is not None:
        times = words.plural(len(attempts), "attempt")
        sent = Tick("dispatched", "done", times, last.dispatched_at)
    return [_decided(handoff), sent, _acknowledged(handoff, last)]


def _decided(handoff: Handoff) -> Tick:
    state = State(handoff.state)
    if state is State.RECEIVED:
        return Tick("decided", "open", "being checked")
    if state.value in AWAITING:
        again = " again" if handoff.last_attempt else ""
        return Tick("decided", "open", f"waits for a person{again}")
    if state.value in ENDED:
        at = handoff.checked_at if state is State.REJECTED else handoff.decided_at or handoff.changed_at
        return Tick("decided", "bad", words.STATES[state].lower(), at)
    by = "by a person" if handoff.decided_at else "by the checks"
    return Tick("decided", "done", by, handoff.decided_at or handoff.checked_at)


def _acknowledged(handoff: Handoff, last: Attempt | None) -> Tick:
    if handoff.state == State.ACKNOWLEDGED.value and last is not None:
        return Tick("acknowledged", "done", f"attempt {last.number}", last.ended_at)
    if handoff.state in ENDED:
        return Tick("acknowledged", "never", "not acknowledged")
    if handoff.state == State.DISPATCHED.value and handoff.acknowledge_by:
        return Tick("acknowledged", "open", "awaited until", handoff.acknowledge_by)
    return Tick("acknowledged", "open", "not acknowledged")


def _verdicts(handoff: Handoff, runs: Sequence[CheckRun]) -> list[Event]:
    events: list[Event] = []
    seen: set[int] = set()
    for run in runs:
        if run.revision in seen:  # only the sweep judges a revision again: see checkpoints.services.returns
            events.append(Event(run.finished_at, "failed", "the promised return did not come"))
            continue
        seen.add(run.revision)
        what = f"checks: {run.outcome}, by policy {run.policy_version}"
        if run.revision > 1:
            what = f"revision {run.revision}, {what}"
        events.append(Event(run.finished_at, run.outcome, what))
    return events


def _decision(handoff: Handoff, decision: Decision) -> Event:
    # Who still has to choose does not read what the first approver thought.
    hidden = handoff.state in AWAITING and decision.round == handoff.round and decision.action == "approve"
    return Event(
        decision.at,
        decision.action,
        DECIDED.get(decision.action, decision.action),
        who=decision.actor_label,
        detail="" if hidden else decision.question or decision.reason,
        acted=True,
    )


def _ticket(ticket: Ticket) -> list[Event]:
    # Signed anew for every attempt: `issued_at` moves, the decision does not.
    events = [Event(ticket.decided_at, "approve", "ticket issued", ticket=ticket.reference)]
    if ticket.revoked_at:
        events.append(Event(ticket.revoked_at, "abort", "ticket void", ticket=ticket.reference))
    return events


def _attempt(handoff: Handoff, attempt: Attempt) -> list[Event]:
    number = attempt.number
    events = [Event(attempt.dispatched_at, "open", f"attempt {number} dispatched")]
    if attempt.ended_at and attempt.outcome:
        what = f"attempt {number} {attempt.outcome.replace('_', ' ')}"
        if attempt.outcome == "timed_out":
            what = f"{what}. {still_working(handoff, number)}"
        events.append(
            Event(attempt.ended_at, attempt.outcome, what, who=attempt.receiver or "", detail=attempt.detail)
        )
    return events


def _still_working(handoff: Handoff, attempts: Sequence[Attempt]) -> list[Mark]:
    last = attempts[-1] if attempts else None
    if last is None or last.outcome != "timed_out":
        return []
    return [Mark(f"Attempt {last.number} timed out. {still_working(handoff, last.number)}")]


def _return(handoff: Handoff, at: datetime) -> list[Mark]:
    if "HC-79" in handoff.finding_codes:
        return [Mark("The promised return did not come")]
    if handoff.return_by is None:
        return []
    return [Mark(f"Return awaited {'since' if handoff.return_by <= at else 'until'}", handoff.return_by)]
