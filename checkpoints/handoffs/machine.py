"""The state machine of contract §4 as one table of events."""

from __future__ import annotations

from enum import StrEnum

from checkpoints.errors import IllegalTransition
from checkpoints.types import State


class Event(StrEnum):
    """What happens to a handoff. The value is the audit action's participle."""

    CLEAR = "cleared"
    FLAG = "flagged"
    REJECT = "rejected"
    REOPEN = "reopened"
    APPROVE_FIRST = "approved_first"
    APPROVE = "approved"
    EDIT = "edited"
    ABORT = "aborted"
    SEND_BACK = "sent_back"
    ESCALATE = "escalated"
    WITHDRAW = "withdrawn"  # an approval taken back
    EXPIRE_TICKET = "ticket_expired"
    FAIL_RECHECK = "recheck_failed"
    DISPATCH = "dispatched"
    ACKNOWLEDGE = "acknowledged"
    FAIL = "failed"
    TIME_OUT = "timed_out"
    EXHAUST = "exhausted"
    REFUSE = "refused"
    MISMATCH = "mismatched"
    CANCEL = "cancelled"


S = State
_OPEN = (S.RECEIVED, S.REJECTED, S.FLAGGED, S.CLEARED, S.APPROVED, S.DISPATCHED, S.RECOVERABLE, S.ESCALATED)

TABLE: dict[Event, dict[State, State]] = {
    Event.CLEAR: {S.RECEIVED: S.CLEARED},
    Event.FLAG: {S.RECEIVED: S.FLAGGED},
    Event.REJECT: {S.RECEIVED: S.REJECTED},
    Event.REOPEN: {S.REJECTED: S.FLAGGED},
    Event.APPROVE_FIRST: {S.FLAGGED: S.FLAGGED, S.ESCALATED: S.ESCALATED},
    Event.APPROVE: {S.FLAGGED: S.APPROVED, S.ESCALATED: S.APPROVED},
    Event.EDIT: {S.FLAGGED: S.FLAGGED, S.ESCALATED: S.FLAGGED},
    Event.ABORT: {state: S.ABORTED for state in _OPEN if state is not S.RECEIVED},
    Event.SEND_BACK: {S.FLAGGED: S.ABORTED, S.ESCALATED: S.ABORTED},
    Event.ESCALATE: {S.FLAGGED: S.ESCALATED, S.RECOVERABLE: S.ESCALATED},
    Event.WITHDRAW: {S.APPROVED: S.FLAGGED},
    Event.EXPIRE_TICKET: {S.APPROVED: S.FLAGGED},
    Event.FAIL_RECHECK: {S.APPROVED: S.FLAGGED},
    Event.DISPATCH: {S.CLEARED: S.DISPATCHED, S.APPROVED: S.DISPATCHED, S.RECOVERABLE: S.DISPATCHED},
    Event.ACKNOWLEDGE: {
        S.DISPATCHED: S.ACKNOWLEDGED,
        S.RECOVERABLE: S.ACKNOWLEDGED,
        S.ESCALATED: S.ACKNOWLEDGED,
    },
    Event.FAIL: {S.DISPATCHED: S.RECOVERABLE},
    Event.TIME_OUT: {S.DISPATCHED: S.RECOVERABLE},
    Event.EXHAUST: {S.DISPATCHED: S.ESCALATED},
    Event.REFUSE: {S.DISPATCHED: S.FLAGGED},
    Event.MISMATCH: {S.DISPATCHED: S.FLAGGED},
    Event.CANCEL: dict.fromkeys(_OPEN, S.CANCELLED),
}


def allowed(state: State) -> tuple[str, ...]:
    """The states that can follow this one, in the order of the State enum."""
    following = {edges[state] for edges in TABLE.values() if state in edges}
    return tuple(item.value for item in State if item in following)


def next_state(state: State, event: Event) -> State:
    """The state after `event`; IllegalTransition (409, with `state` and `allowed`) where there is no edge."""
    following = TABLE[event].get(state)
    if following is None:
        choices = allowed(state)
        hint = f"From here it can become {', '.join(choices)}." if choices else "That is its last state."
        raise IllegalTransition(
            f"This handoff is {state.value} and cannot be {event.value.replace('_', ' ')}. {hint}",
            extra={"state": state.value, "allowed": list(choices)},
        )
    return following
