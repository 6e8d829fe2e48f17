"""The document as checks read it: total, computed once per submission, naming what the sender named.

Reading never raises and never judges: a member of a wrong type reads as None, and the schema family says so. A
list that is missing or no list reads as None ("cannot be judged"), an empty list as ().
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

import orjson

from checkpoints.formats import Received, received_all
from checkpoints.formats.reading import fold, instant
from checkpoints.types import Answer, JSONObject, JSONValue, PendingDecision, Submission

HANDOFF = "handoff/1"
ENGINE = "prompty.engine/1"
SHOWN_CHARACTERS = 200


class Step(NamedTuple):
    """A completed step. `step_id` is None where it is blank or no string."""

    pointer: str
    step_id: str | None
    completed_at: datetime | None
    members: JSONObject


class CurrentStep(NamedTuple):
    """`in_progress_step` with something in it; an object of nulls is no step."""

    name: str
    pointer: str
    step_id: str | None
    started_at: datetime | None
    members: JSONObject


class Decision(NamedTuple):
    """A pending decision as it stands in the document."""

    pointer: str
    decision_id: str | None
    question: str | None
    blocking: bool
    members: JSONObject


class ToolOutput(NamedTuple):
    pointer: str
    call_id: str | None
    members: JSONObject


class View:
    """One submission as the checks of all families see it."""

    def __init__(self, submission: Submission) -> None:
        self.submission = submission
        self.is_handoff = submission.format == HANDOFF
        # A foreign payload has members of its own meaning: only the envelope, or the flat document, speaks for it.
        own = self.is_handoff or submission.form == "flat"
        self._payload: JSONObject = submission.payload if own else {}
        self._envelope = submission.envelope
        self._members: dict[str, Received | None] = {}
        self._places: dict[str, tuple[Received, ...]] = {}
        #: Tokens of the context by the function that counted them: counting costs more than any check.
        self.context_tokens: dict[Callable[[str], int], int] = {}

    def get(self, member: str) -> Received | None:
        """A logical member at its best place; None where it was not given at all."""
        if member not in self._members:
            every = self._every(member)
            filled_ones = (found for found in every if found.value is not None)
            self._members[member] = next(filled_ones, every[0] if every else None)
        return self._members[member]

    def _every(self, member: str) -> tuple[Received, ...]:
        places = self._places.get(member)
        if places is None:
            places = self._places[member] = tuple(received_all(self._payload, self._envelope, member))
        return places

    def given(self, member: str) -> Received | None:
        """A logical member that was given and is not null."""
        found = self.get(member)
        return found if found is not None and found.value is not None else None

    def everywhere(self, member: str) -> tuple[Received, ...]:
        """All places of a member that are not null, the payload's before the envelope's."""
        return tuple(found for found in self._every(member) if found.value is not None)

    def in_payload(self, member: str) -> tuple[Received, ...]:
        return tuple(found for found in received_all(self._payload, {}, member) if found.value is not None)

    def in_envelope(self, member: str) -> tuple[Received, ...]:
        return tuple(found for found in received_all({}, self._envelope, member) if found.value is not None)

    def text(self, member: str) -> str | None:
        """A member that is a string with more than blanks in it."""
        found = self.get(member)
        return filled(found.value) if found else None

    def pointer(self, member: str, default: str) -> str:
        """Where a member stands, or where it would have to stand."""
        found = self.get(member)
        return found.pointer if found else default

    @cached_property
    def steps(self) -> tuple[Step, ...] | None:
        found = self.get("completed_steps")
        if found is None or not isinstance(found.value, list):
            return None
        return tuple(
            Step(
                f"{found.pointer}/{index}",
                filled(item.get("step_id")),
                _instant(item.get("completed_at")),
                item,
            )
            for index, item in enumerate(found.value)
            if isinstance(item, dict)
        )

    @cached_property
    def current_step(self) -> CurrentStep | None:
        found = self.get("in_progress_step")
        if found is None or not isinstance(found.value, dict) or all(map(is_blank, found.value.values())):
            return None
        step = found.value
        return CurrentStep(
            found.name,
            found.pointer,
            filled(step.get("step_id")),
            instant(step.get("started_at")),
            step,
        )

    @cached_property
    def decisions(self) -> tuple[Decision, ...] | None:
        return _decisions(self._payload) if self.is_handoff else None

    @cached_property
    def tool_outputs(self) -> tuple[ToolOutput, ...]:
        value = self._payload.get("tool_outputs") if self.is_handoff else None
        if not isinstance(value, list):
            return ()
        return tuple(
            ToolOutput(f"/tool_outputs/{index}", filled(item.get("call_id")), item)
            for index, item in enumerate(value)
            if isinstance(item, dict)
        )

    @cached_property
    def constraints(self) -> tuple[str, ...] | None:
        """The texts of `active_constraints`, stripped, blanks included; None where it is no list."""
        value = self._payload.get("active_constraints") if self.is_handoff else None
        if not isinstance(value, list):
            return None
        return tuple(item.strip() for item in value if isinstance(item, str))

    @cached_property
    def context(self) -> JSONObject | None:
        value = self._payload.get("context_snapshot") if self.is_handoff else None
        return value if isinstance(value, dict) else None

    @cached_property
    def status(self) -> str | None:
        """The task status in the words of HC-04, or what the sender wrote."""
        return self.submission.facts.task_status

    @cached_property
    def written(self) -> bytes:
        """The payload as compact JSON with sorted keys: what scans and counts read."""
        return orjson.dumps(self.submission.payload, option=orjson.OPT_SORT_KEYS)

    @cached_property
    def envelope_written(self) -> bytes:
        return orjson.dumps(self.submission.envelope, option=orjson.OPT_SORT_KEYS)


# The views of the last few submissions: all families of a run, and the next run of a session, share one reading.
_recent: tuple[View, ...] = ()
_KEPT = 4


def view(submission: Submission) -> View:
    """The reading of a submission, shared by all checks of a run."""
    global _recent  # noqa: PLW0603  WONTFIX: one assignment of an immutable tuple, so threads never see half of it
    for known in _recent:
        if known.submission is submission:
            return known
    made = View(submission)
    _recent = (made, *_recent[: _KEPT - 1])
    return made


def _instant(value: JSONValue) -> datetime | None:
    """`instant`, with a short way for `2026-11-30T12:00:00Z`, which nearly every step carries."""
    if isinstance(value, str) and len(value) == 20 and value[4::3] == "--T::Z" and value.isascii():
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            return None
    return instant(value)


def _decisions(payload: Mapping[str, JSONValue]) -> tuple[Decision, ...] | None:
    value = payload.get("pending_decisions")
    if not isinstance(value, list):
        return None
    return tuple(
        Decision(
            f"/pending_decisions/{index}",
            filled(item.get("decision_id")),
            filled(item.get("question")),
            item.get("blocking") not in (None, False),
            item,
        )
        for index, item in enumerate(value)
        if isinstance(item, dict)
    )


def filled(value: JSONValue) -> str | None:
    """A string with more than blanks in it, as received; else None."""
    return value if isinstance(value, str) and value.strip() else None


def is_blank(value: JSONValue) -> bool:
    """Null, or a string of blanks."""
    return value is None or (isinstance(value, str) and not value.strip())


def same_word(first: str, second: str) -> bool:
    """Equal apart from case and spaces."""
    return fold(first) == fold(second)


def is_answered(decision: PendingDecision, answers: Mapping[str, Answer]) -> bool:
    """Whether a person answered exactly this question, with these options, here."""
    answer = answers.get(decision.decision_id)
    return answer is not None and answer.question == decision.question and answer.options == decision.options


def open_blocking(submission: Submission, answers: Mapping[str, Answer]) -> tuple[PendingDecision, ...]:
    """The blocking decisions that nobody has answered here."""
    return tuple(
        decision
        for decision in submission.facts.pending_decisions
        if decision.blocking and not is_answered(decision, answers)
    )


def shown(value: JSONValue, limit: int = SHOWN_CHARACTERS) -> str:
    """A value inside a sentence: strings as they are, the rest as JSON, cut after `limit` characters."""
    written = value if isinstance(value, str) else orjson.dumps(value).decode()
    size = len(written)
    written = " ".join(written[: 20 * limit].split())
    return (
        written if size <= 20 * limit and len(written) <= limit else f"{written[:limit]}… ({size} characters)"
    )


def place(pointer: str) -> str:
    """A pointer inside a sentence: `completed_steps/1`."""
    return pointer.removeprefix("/") or "the document"


def escape(name: str) -> str:
    """A member name as a JSON pointer token."""
    return name.replace("~", "~0").replace("/", "~1") if "~" in name or "/" in name else name


def strings(value: JSONValue, pointer: str = "") -> Iterator[tuple[str, str, bool]]:
    """Every string in a value with its pointer, names of members too (third: whether it is a name)."""
    stack: list[tuple[str, JSONValue]] = [(pointer, value)]
    while stack:
        where, item = stack.pop()
        if isinstance(item, str):
            yield where, item, False
        elif isinstance(item, dict):
            for name, member in item.items():
                inner = f"{where}/{escape(name)}"
                yield inner, name, True
                stack.append((inner, member))
        elif isinstance(item, list):
            stack.extend((f"{where}/{index}", member) for index, member in enumerate(item))
