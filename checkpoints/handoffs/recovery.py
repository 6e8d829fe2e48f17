"""What an orchestrator does next in a session (contract §4), as rules without a clock or a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from checkpoints.handoffs.reconciling import effect_of_resume
from checkpoints.types import JSONObject, JSONValue, State, Submission, rfc3339

ENGINE = "prompty.engine/1"


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest handoff of a session that still says something: neither cancelled nor aborted without a word."""

    checkpoint_id: str
    state: State
    not_before: datetime | None = None
    acknowledge_by: datetime | None = None
    advice: str = "none"  # of the abort: restart | fallback | none
    question: str | None = None  # of the sending back
    fallback_role: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """`action` is none, wait, review, dispatch, restart or answer; `reason` says why, in words."""

    action: str
    reason: str


def next_step(newest: Newest | None, at: datetime) -> Step:
    """What to do at `at`."""
    if newest is None:
        return Step("none", "This session holds nothing to go on with.")
    name, state = newest.checkpoint_id, newest.state
    if state is State.ABORTED:
        return _after_abort(newest)
    if state is State.RECOVERABLE and newest.not_before and at < newest.not_before:
        return Step("wait", f"The next attempt of {name} may start at {rfc3339(newest.not_before)}.")
    until = f" until {rfc3339(newest.acknowledge_by)}" if newest.acknowledge_by else ""
    steps = {
        State.ACKNOWLEDGED: Step("none", f"{name} was acknowledged."),
        State.RECEIVED: Step("wait", f"The checks of {name} have not finished."),
        State.DISPATCHED: Step("wait", f"An attempt of {name} is in flight{until}."),
        State.FLAGGED: Step("review", f"A person has to decide on {name}."),
        State.ESCALATED: Step("review", f"{name} was escalated: a person has to decide."),
        State.REJECTED: Step(
            "review",
            f"{name} was rejected. Repair it under a new checkpoint_id, or have a senior operator reopen it.",
        ),
        State.CLEARED: Step("dispatch", f"{name} was cleared and has not been dispatched."),
        State.APPROVED: Step("dispatch", f"{name} was approved and has not been dispatched."),
        State.RECOVERABLE: Step("dispatch", f"The last attempt of {name} was lost and retries are left."),
    }
    return steps[state]


def _after_abort(newest: Newest) -> Step:
    name = newest.checkpoint_id
    if newest.question:
        return Step(
            "answer",
            f"{name} was sent back with a question. Answer it with a new checkpoint: {newest.question}",
        )
    if newest.advice == "fallback":
        role = newest.fallback_role or "another role"
        return Step("restart", f"{name} was aborted with the advice to start again with {role}.")
    return Step("restart", f"{name} was aborted with the advice to start again.")


def resume_context(submission: Submission, outcomes: Mapping[str, str] | None = None) -> JSONObject | None:
    """What a Prompty engine resumes from, and what a resume would do; None for other formats.

    `outcomes` is what people found out about effects of unknown outcome: request id to outcome.
    `lastJournalSequence` is the highest sequence that anybody told us: the engine goes on after it.
    """
    if submission.format != ENGINE:
        return None
    source = _mapping((submission.envelope or submission.document).get("source"))
    told = _mapping(source.get("resume"))
    journal = source.get("journal")
    events = [_mapping(event) for event in journal] if isinstance(journal, list) else []
    sequences = [told.get("lastJournalSequence"), submission.payload.get("lastSequence")]
    sequences += [event.get("sequence") for event in events]
    return {
        "resume": {
            "checkpoint": submission.payload,
            "maxIterations": told.get("maxIterations"),
            "maxModelAttempts": told.get("maxModelAttempts"),
            "lastJournalSequence": max((_integer(value) for value in sequences), default=0),
        },
        "resume_effect": effect_of_resume(submission.payload, submission.facts, outcomes or {}),
    }


def _mapping(value: JSONValue) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _integer(value: JSONValue) -> int:
    """An int64 as the engine's writers spell it: a number, or its digits in a string."""
    if type(value) is int:
        return max(0, value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        return int(value)
    return 0
