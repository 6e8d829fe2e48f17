"""`source.journal` and `source.resume`: evidence an orchestrator may send beside the checkpoint."""

from __future__ import annotations

from typing import NamedTuple

from checkpoints.checks.engine_reading import (
    outer,
    whole_number,
)
from checkpoints.types import JSONObject, JSONValue, Submission

_IDENTITY = ("sessionId", "turnId", "runId")


class Event(NamedTuple):
    """An EngineEvent of this run; `sequence` is None where it cannot be read."""

    sequence: int | None
    kind: str
    payload: JSONObject


def journal(submission: Submission) -> tuple[Event, ...] | None:
    """The events of this run, or None where no journal came. An empty list says no more than none."""
    entries = _source(submission).get("journal")
    if not isinstance(entries, list):
        return None
    events = [entry for entry in entries if isinstance(entry, dict) and isinstance(entry.get("kind"), str)]
    if not events:
        return None
    return tuple(
        Event(whole_number(event.get("sequence")), str(event["kind"]), _object(event.get("payload")))
        for event in events
        if _is_of_this_run(event, submission.payload)
    )


def resume(submission: Submission) -> JSONObject | None:
    """The ResumeContext, or None where none came."""
    value = _source(submission).get("resume")
    return value if isinstance(value, dict) and value else None


def kinds_since(events: tuple[Event, ...], sequence: int | None) -> set[str]:
    """Kinds of the events after a sequence; those without a readable one count."""
    return {
        event.kind
        for event in events
        if sequence is None or event.sequence is None or event.sequence > sequence
    }


def _source(submission: Submission) -> JSONObject:
    return _object(outer(submission).get("source"))


def _object(value: JSONValue) -> JSONObject:
    return value if isinstance(value, dict) else {}


def _is_of_this_run(event: JSONObject, payload: JSONObject) -> bool:
    """A journal may hold the delegated runs too; an event that names nobody belongs to this one."""
    return all(event.get(name) in (None, payload.get(name)) for name in _IDENTITY)
