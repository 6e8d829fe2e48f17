"""One document against its predecessor: the last one of the same session, task and agent role (contract §4)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import orjson

from checkpoints.checks.shape import Step, View, is_blank, open_blocking, shown, view
from checkpoints.formats.reading import instant
from checkpoints.types import CheckContext, Hit, JSONValue, Severity, Submission

FORMATS = ("handoff/1",)

_WORD: Final = re.compile(r"\w+")
_ID_WORD: Final = re.compile(r"[\w-]+")
SAME_GOAL: Final = 0.3  # share of words that two wordings of one goal have in common


def _before(context: CheckContext) -> View | None:
    """The predecessor's reading; None without one, or where it is of a format that is not compared."""
    return view(context.previous) if context.previous and context.previous.format in FORMATS else None


def _named(context: CheckContext) -> str:
    if context.previous_sequence is not None:
        return f"the checkpoint of sequence {context.previous_sequence}"
    return "the checkpoint before it"


def lost_and_rewritten_steps(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-47, HC-48 and HC-49."""
    before, now = _before(context), view(submission)
    if before is None or now.steps is None:
        return
    present = {step.step_id: step for step in now.steps if step.step_id is not None}
    current = now.current_step
    for old in _first_of_each(before.steps or ()):
        if current is not None and current.step_id == old.step_id:
            yield Hit(
                "HC-49",
                f"{current.pointer}/step_id",
                f"Step {old.step_id} was completed in {_named(context)} and is in progress again: it would "
                "be done twice.",
                None,
                old.step_id,
            )
        elif old.step_id not in present:
            yield Hit(
                "HC-47",
                now.pointer("completed_steps", "/completed_steps"),
                f"Step {old.step_id} was completed in {_named(context)} and is gone: the work is lost, or "
                "would be repeated.",
                old.step_id,
                None,
            )
        else:
            yield from _rewritten(old, present[old.step_id], context)


def _first_of_each(steps: tuple[Step, ...]) -> Iterator[Step]:
    """The predecessor's named steps; of steps with one id (HC-31 there) the last, as in the new document."""
    yield from {step.step_id: step for step in steps if step.step_id is not None}.values()


def _rewritten(old: Step, new: Step, context: CheckContext) -> Iterator[Hit]:
    """What was there may not change; what was blank may be filled in, and members may be added."""
    if old.members == new.members:
        return
    for member, value in old.members.items():
        now = new.members.get(member)
        if is_blank(value) or value == now or _same_instant(value, now):
            continue
        yield Hit(
            "HC-48",
            f"{new.pointer}/{member}",
            f"Step {old.step_id} was rewritten: its {member} was {shown(value, 100)!r} in "
            f"{_named(context)} and is {shown(now, 100)!r} here. What is completed does not change.",
            shown(value),
            shown(now),
        )
        return


def _same_instant(first: JSONValue, second: JSONValue) -> bool:
    known = instant(first)
    return known is not None and known == instant(second)


def task_reopened(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-50."""
    before, now = _before(context), view(submission)
    status = now.given("task_status")
    if before is None or status is None or before.status != "completed" or now.status in (None, "completed"):
        return
    yield Hit(
        "HC-50",
        status.pointer,
        f"Task {submission.facts.task_id} was completed in {_named(context)} and is "
        f"{shown(now.status, 40)} here. New work needs a new task_id.",
        "completed",
        shown(status.value),
    )


def decision_disappeared(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-51."""
    before, now = _before(context), view(submission)
    if before is None or now.decisions is None:
        return
    open_ids = {decision.decision_id for decision in now.decisions}
    lost = [
        decision
        for decision in open_blocking(before.submission, context.answers)
        if decision.decision_id and decision.decision_id not in open_ids
    ]
    if not lost:
        return
    resolved = _words_of_steps(now)
    for decision in lost:
        if _is_named(decision.decision_id, resolved):
            continue
        yield Hit(
            "HC-51",
            "/pending_decisions",
            f"Blocking decision {decision.decision_id} ({shown(decision.question, 100)}) was open in "
            f"{_named(context)} and is gone: no completed step names it, and nobody answered it here.",
            decision.decision_id,
            None,
        )


def _words_of_steps(document: View) -> frozenset[str]:
    """Every word of the completed steps, ids with hyphens as one: `Resolved d0: full refund` names d0."""
    text = "\n".join(orjson.dumps(step.members).decode() for step in document.steps or ())
    return frozenset(_ID_WORD.findall(text))


def _is_named(decision_id: str, words: frozenset[str]) -> bool:
    parts = _ID_WORD.findall(decision_id)
    return bool(parts) and words.issuperset(parts)


def constraint_dropped(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-52."""
    before, now = _before(context), view(submission)
    if before is None or now.constraints is None:
        return
    present, written = frozenset(now.constraints), shown(", ".join(now.constraints))
    for constraint in dict.fromkeys(before.constraints or ()):
        if constraint and constraint not in present:
            yield Hit(
                "HC-52",
                "/active_constraints",
                f"The constraint {shown(constraint, 100)} was active in {_named(context)} and is gone. It "
                "holds until a person lifts it.",
                constraint,
                written,
            )


def intent_changed(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-53: medium when the two wordings share less than 30 % of their words, else low."""
    before, now = _before(context), view(submission)
    if before is None:
        return
    old, new = before.text("user_intent"), now.text("user_intent")
    if old is None or new is None or " ".join(old.split()).casefold() == " ".join(new.split()).casefold():
        return
    overlap = _overlap(old, new)
    yield Hit(
        "HC-53",
        now.pointer("user_intent", "/context_snapshot/user_intent"),
        f"user_intent was {shown(old, 100)!r} in {_named(context)} and is {shown(new, 100)!r} here "
        f"({overlap:.0%} of the words in common). Check that the goal is still the user's.",
        shown(old),
        shown(new),
        severity=None if overlap < SAME_GOAL else Severity.LOW,
    )


def _overlap(first: str, second: str) -> float:
    one, other = set(_WORD.findall(first.casefold())), set(_WORD.findall(second.casefold()))
    return len(one & other) / len(one | other) if one | other else 1.0


CHECKS = (
    lost_and_rewritten_steps,
    task_reopened,
    decision_disappeared,
    constraint_dropped,
    intent_changed,
)
