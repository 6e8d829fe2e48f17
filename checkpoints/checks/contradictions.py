"""Contradictions inside one document: what is said done, open and under way cannot all be true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkpoints.checks.shape import place, view
from checkpoints.types import CheckContext, Hit, Submission

FORMATS = ("handoff/1",)


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
                expected="each step_id once",
                actual=step.step_id,
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
                f"Step {current.step_id} stands in {place(step.pointer)} and in {current.name}. "
                "It is either done or under way.",
                expected=None,
                actual=current.step_id,
            )
            return


def done_but_in_progress(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """HC-18."""
    document = view(submission)
    current = document.current_step
    if document.status != "completed" or current is None:
        return ()
    status = document.get("task_status")
    step = f"step {current.step_id}" if current.step_id else "a step"
    return (
        Hit(
            "HC-18",
            current.pointer,
            f"{status.name if status else 'task_status'} is completed, but {step} is still in {current.name}. "
            "Finish the step, or send in_progress.",
            expected=None,
            actual=current.step_id,
        ),
    )


CHECKS = (steps_done_twice, step_done_and_in_progress, done_but_in_progress)
