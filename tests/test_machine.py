"""The state machine is contract §4, pair by pair."""

from __future__ import annotations

import pytest

from checkpoints.errors import IllegalTransition
from checkpoints.handoffs.machine import TABLE, Event, allowed, next_state
from checkpoints.handoffs.retries import backoff_seconds, retries_left
from checkpoints.types import State

# Contract §4, as it stands there: from -> to.
CONTRACT = {
    "received": {"rejected", "flagged", "cleared", "cancelled"},
    "rejected": {"flagged", "aborted", "cancelled"},
    "flagged": {"approved", "aborted", "escalated", "flagged", "cancelled"},
    "cleared": {"dispatched", "aborted", "cancelled"},
    "approved": {"dispatched", "flagged", "aborted", "cancelled"},
    "dispatched": {"acknowledged", "recoverable", "escalated", "flagged", "aborted", "cancelled"},
    "recoverable": {"dispatched", "acknowledged", "escalated", "aborted", "cancelled"},
    "escalated": {"approved", "aborted", "flagged", "escalated", "acknowledged", "cancelled"},
    "acknowledged": set(),
    "aborted": set(),
    "cancelled": set(),
}


@pytest.mark.parametrize("state", State)
def test_the_states_that_can_follow_are_those_of_the_contract(state: State) -> None:
    assert set(allowed(state)) == CONTRACT[state.value]


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("state", State)
def test_every_pair_of_state_and_event_leads_on_or_is_refused(state: State, event: Event) -> None:
    if state in TABLE[event]:
        assert next_state(state, event).value in CONTRACT[state.value]
    else:
        with pytest.raises(IllegalTransition) as refused:
            next_state(state, event)
        assert refused.value.status == 409
        assert refused.value.extra == {"state": state.value, "allowed": list(allowed(state))}


@pytest.mark.parametrize(
    ("max_retries", "attempts", "left"), [(3, 0, 3), (3, 1, 3), (3, 2, 2), (3, 4, 0), (0, 1, 0), (1, 9, 0)]
)
def test_the_first_attempt_is_no_retry(max_retries: int, attempts: int, left: int) -> None:
    assert retries_left(max_retries=max_retries, attempts=attempts) == left


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 0), (2, 30), (3, 120), (9, 120)])
def test_the_last_step_of_the_back_off_repeats(attempts: int, seconds: int) -> None:
    assert backoff_seconds(schedule=(0, 30, 120), attempts=attempts) == seconds


def test_an_empty_schedule_waits_for_nothing() -> None:
    assert backoff_seconds(schedule=(), attempts=3) == 0
