"""Contradictions inside one document: what is said done, open and under way cannot all be true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoints.checks.shape import (
    CurrentStep,
    Step,
    View,
    is_blank,
    open_blocking,
    place,
    shown,
    view,
)
from checkpoints.types import CheckContext, Hit, Submission

FORMATS = ("handoff/1",)

WAITING: Final = ("blocked", "awaiting_approval")


def steps_done_twice(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-31."""
    first: dict[str, str] = {}
    for step in view(submission).steps or ():
        if step.step_id is None:
            continue
        if step.step_id in first:
            yield Hit(
                "HC-31",
                f"{step.pointer}/step_id",
                f"Step {step.step_id} stands in {place(first[step.step_id])} and in {place(step.pointer)}. "
                "Keep one entry per step.",
                "each step_id once",
                step.step_id,
            )
        else:
            first[step.step_id] = step.pointer


def step_done_and_in_progress(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-32."""
    document = view(submission)
    current = document.current_step
    if current is None or current.step_id is None:
        return
    for step in document.steps or ():
        if step.step_id == current.step_id:
            yield Hit(
                "HC-32",
                f"{current.pointer}/step_id",
                f"Step {current.step_id} stands in {place(step.pointer)} and in {current.name}. It is "
                "either done or under way.",
                None,
                current.step_id,
            )
            return


def status_and_work(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-18, HC-20 and HC-21: the status against the steps."""
    document = view(submission)
    current, status = document.current_step, document.get("task_status")
    name = status.name if status else "task_status"
    if document.status == "completed":
        if current is not None:
            yield Hit(
                "HC-18",
                current.pointer,
                f"{name} is completed, but {_named(current)} is still in {current.name}. Finish the step, "
                "or send in_progress.",
                None,
                current.step_id,
            )
        if document.steps == () and document.pointer("completed_steps", ""):
            yield Hit(
                "HC-20",
                document.pointer("completed_steps", "/completed_steps"),
                f"{name} is completed, but completed_steps is empty: nothing shows that any work was done.",
                "at least one step",
                [],
            )
    elif document.status == "in_progress" and current is None and _says_no_step(document):
        yield Hit(
            "HC-21",
            document.pointer("in_progress_step", "/in_progress_step"),
            f"{name} is in_progress, but in_progress_step names no step: the next agent has nothing to resume.",
            "a step",
            None,
        )


def _named(current: CurrentStep) -> str:
    return f"step {current.step_id}" if current.step_id else "a step"


def _says_no_step(document: View) -> bool:
    found = document.given("in_progress_step")
    return found is None or isinstance(found.value, dict)


def status_and_decisions(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-19, HC-22, HC-23 and HC-30: the status against the open decisions."""
    document = view(submission)
    status = document.get("task_status")
    if document.decisions is None or status is None:
        return
    name, value = status.name, document.status
    if value in ("completed", "in_progress"):
        yield from _open_although(submission, context, name, value)
    elif value in WAITING and not document.decisions and _is_empty(document, "pending_decisions"):
        yield Hit(
            "HC-30",
            "/pending_decisions",
            f"{name} is {value}, but pending_decisions is empty: nobody can see what it waits for.",
            "the open decision",
            [],
        )
    elif value == "blocked" and not any(decision.blocking for decision in document.decisions):
        ids = ", ".join(decision.decision_id or "?" for decision in document.decisions[:5])
        yield Hit(
            "HC-22",
            "/pending_decisions",
            f"{name} is blocked, but none of the pending decisions ({shown(ids, 100)}) is blocking: nobody "
            "can unblock it.",
            "a decision with blocking true",
            False,
        )


def _open_although(submission: Submission, context: CheckContext, name: str, value: str) -> Iterator[Hit]:
    """HC-19 and HC-23: a blocking decision that nobody answered here, in a task that goes on or is done."""
    blocking = open_blocking(submission, context.answers)
    if not blocking:
        return
    then = "Send blocked or awaiting_approval, or mark the decision as not blocking."
    if value == "completed":
        then = "A task with an open question is not completed: send blocked, or record its answer as a step."
    first = blocking[0]
    others = f" (and {len(blocking) - 1} more)" if len(blocking) > 1 else ""
    yield Hit(
        "HC-19" if value == "completed" else "HC-23",
        f"{first.pointer}/blocking",
        f"{name} is {value}, but decision {first.decision_id or place(first.pointer)}{others} is open and "
        f"blocking. {then}",
        False,
        True,
    )


def _is_empty(document: View, member: str) -> bool:
    found = document.given(member)
    return found is not None and found.value == []


def waits_without_a_gate(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-24."""
    document = view(submission)
    status = document.get("task_status")
    if document.status != "awaiting_approval" or status is None or document.text("approval_ticket_reference"):
        return
    if document.decisions == () and _is_empty(document, "pending_decisions"):
        yield Hit(
            "HC-24",
            status.pointer,
            f"{status.name} is awaiting_approval, but there is neither an approval_ticket_reference nor a "
            "pending decision: nobody can find what has to be approved.",
            "a ticket or a decision",
            "awaiting_approval",
        )


def evidence_of_steps(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-33."""
    for step in view(submission).steps or ():
        if step.step_id and step.completed_at and not is_blank(step.members.get("output_reference")):
            continue
        lacking = [
            member
            for member in ("step_id", "completed_at", "output_reference")
            if is_blank(step.members.get(member))
        ]
        if lacking:
            name = f"Step {step.step_id}" if step.step_id else place(step.pointer)
            yield Hit(
                "HC-33",
                f"{step.pointer}/{lacking[0]}",
                f"{name} is called completed, but has no {' and no '.join(lacking)}: nothing shows that "
                "the work exists.",
                "a value",
                step.members.get(lacking[0]),
            )


def half_filled_step(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-34."""
    current = view(submission).current_step
    if current is None:
        return
    if current.step_id is None:
        if not isinstance(current.members.get("step_id"), str | None):
            return
        yield Hit(
            "HC-34",
            f"{current.pointer}/step_id",
            f"{current.name} has content but no step_id. Name the step, or send null.",
            "a step_id",
            current.members.get("step_id"),
        )
    elif is_blank(current.members.get("started_at")):
        yield Hit(
            "HC-34",
            f"{current.pointer}/started_at",
            f"{current.name} names step {current.step_id} but not when it started.",
            "a time",
            current.members.get("started_at"),
        )


def order_of_times(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-39 and HC-41."""
    document = view(submission)
    taken, produced = document.get("produced_at"), submission.facts.produced_at
    before: Step | None = None
    for step in document.steps or ():
        if step.completed_at is None:
            continue
        if produced is not None and taken is not None and step.completed_at > produced:
            yield Hit(
                "HC-39",
                f"{step.pointer}/completed_at",
                f"Step {step.step_id or place(step.pointer)} finished at "
                f"{step.members.get('completed_at')}, after the checkpoint was taken ({taken.name} "
                f"{taken.value}).",
                f"at most {taken.value}",
                step.members.get("completed_at"),
            )
        if before is not None and before.completed_at is not None and step.completed_at < before.completed_at:
            yield Hit(
                "HC-41",
                f"{step.pointer}/completed_at",
                f"Step {step.step_id or place(step.pointer)} finished at "
                f"{step.members.get('completed_at')}, before {before.step_id or place(before.pointer)} "
                f"({before.members.get('completed_at')}), which stands before it.",
                "chronological order",
                step.members.get("completed_at"),
            )
        before = step


def start_of_current_step(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-40."""
    document = view(submission)
    taken, produced, current = (
        document.get("produced_at"),
        submission.facts.produced_at,
        document.current_step,
    )
    if current is None or current.started_at is None or produced is None or taken is None:
        return
    if current.started_at > produced:
        started = current.members.get("started_at")
        yield Hit(
            "HC-40",
            f"{current.pointer}/started_at",
            f"Step {current.step_id or current.name} starts at {started}, after the checkpoint was taken "
            f"({taken.name} {taken.value}).",
            f"at most {taken.value}",
            started,
        )


CHECKS = (
    steps_done_twice,
    step_done_and_in_progress,
    status_and_work,
    status_and_decisions,
    waits_without_a_gate,
    evidence_of_steps,
    half_filled_step,
    order_of_times,
    start_of_current_step,
)
