"""The checkpoint against the journal and the resume context that came with it: EH-11, EH-13, EH-14."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkpoints.checks.engine_history.journal import Event, journal, kinds_since, resume
from checkpoints.checks.engine_history.predecessor import last_sequence, pair
from checkpoints.checks.engine_reading import (
    counter,
    flag,
    whole_number,
)
from checkpoints.checks.shape import shown
from checkpoints.formats import resume_effect
from checkpoints.types import CheckContext, Hit, JSONValue, Submission

_RECONCILED = ("model_invocation_reconciled", "tool_result_reconciled")


def the_journal_knows_the_checkpoint(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-11."""
    events, last = journal(submission), last_sequence(submission.payload)
    if events is None or last is None:
        return
    if not _holds(events, last):
        highest = max((event.sequence for event in events if event.sequence is not None), default=None)
        yield Hit(
            "EH-11",
            "/lastSequence",
            f"lastSequence is {last}, but the journal that came with it has no such event (its highest is "
            f"{shown(highest)}): checkpoint and journal are not of one state.",
            "an event of the journal",
            last,
        )
    yield from _other_inclusion(events, last, submission.payload.get("id"))


def _holds(events: tuple[Event, ...], last: int) -> bool:
    """Whether the journal has the event, or is a tail that begins right after it."""
    sequences = [event.sequence for event in events if event.sequence is not None]
    if len(sequences) < len(events):
        return True  # an event without a number may be the one
    return last in sequences or (bool(sequences) and min(sequences) == last + 1)


def _other_inclusion(events: tuple[Event, ...], last: int, own_id: JSONValue) -> Iterator[Hit]:
    created = [
        whole_number(event.payload.get("includedThroughSequence"))
        for event in events
        if event.kind == "checkpoint_created"
        and (event.payload.get("checkpointId") == own_id or event.sequence == last + 1)
    ]
    # Ids that the engine makes restart, so an earlier event may name the same one.
    included = [number for number in created if number is not None]
    if included and last not in included:
        yield Hit(
            "EH-11",
            "/lastSequence",
            f"The journal says that {shown(own_id)} includes events up to {included[-1]}, but "
            f"its lastSequence is {last}.",
            included[-1],
            last,
        )


def a_cleared_mark_is_journalled(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-13: somebody must have said what the unknown outcome was."""
    events, found = journal(submission), pair(submission, context)
    if events is None or found is None:
        return
    was, is_now = flag(found.before, "reconciliationRequired"), flag(found.now, "reconciliationRequired")
    if was is True and is_now is False:
        kinds = kinds_since(events, last_sequence(found.before))
        if not kinds.intersection(_RECONCILED):
            yield Hit(
                "EH-13",
                "/reconciliationRequired",
                f"reconciliationRequired was true in {found.label} and is false now, but the journal has no "
                f"{' or '.join(_RECONCILED)} event: nobody recorded what the outcome was.",
                True,
                False,
            )


def the_resume_can_start(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-14: limits under which the engine refuses."""
    limits, payload = resume(submission), submission.payload
    if limits is None:
        return
    iteration, most = counter(payload, "iteration"), whole_number(limits.get("maxIterations"))
    if iteration is not None and most is not None:
        start = iteration + (resume_effect(payload) == "next_iteration")
        if most < start:
            yield Hit(
                "EH-14",
                "/source/resume/maxIterations",
                f"maxIterations is {most}, but the resume would start at iteration {start}: the engine refuses.",
                f"{start} or more",
                most,
            )
    attempts = whole_number(limits.get("maxModelAttempts"))
    if attempts is not None and attempts < 1:
        yield Hit(
            "EH-14",
            "/source/resume/maxModelAttempts",
            f"maxModelAttempts is {attempts}: the engine refuses to resume without at least one attempt.",
            "1 or more",
            attempts,
        )


CHECKS = (the_journal_knows_the_checkpoint, a_cleared_mark_is_journalled, the_resume_can_start)
