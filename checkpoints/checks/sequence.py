"""Order and loops of a session: sequence numbers, times, repeated posts, ping-pong, colliding call ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkpoints.checks.shape import HANDOFF, shown, view
from checkpoints.types import CheckContext, Hit, Submission

FORMATS = ("*",)

EQUAL_POSTS = 3  # the third handoff of the same content is a loop
ALTERNATIONS = 4  # the fifth handoff back and forth between one pair is ping-pong


def older_than_predecessor(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-44."""
    previous, produced = context.previous, submission.facts.produced_at
    if (
        submission.format != HANDOFF
        or previous is None
        or produced is None
        or previous.facts.produced_at is None
    ):
        return
    behind = (previous.facts.produced_at - produced).total_seconds()
    if behind <= context.policy.clock_skew_seconds:
        return
    found = view(submission).given("produced_at")
    before = view(previous).given("produced_at")
    if found is None or before is None:
        return
    yield Hit(
        "HC-44",
        found.pointer,
        f"{found.name} {found.value} is {behind:.0f} s before that of the checkpoint before it "
        f"({before.value}); {context.policy.clock_skew_seconds} s are allowed. This snapshot is stale or "
        "out of order.",
        f"at least {before.value}",
        found.value,
    )


def sequence_regression(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-45."""
    highest = context.highest_judged_sequence
    if highest is None or context.handoff_sequence >= highest:
        return
    yield Hit(
        "HC-45",
        "/handoff_sequence",
        f"handoff_sequence {context.handoff_sequence} came after {highest} was already judged in session "
        f"{submission.session_id}: the session has forked, or an old checkpoint was sent again.",
        f"more than {highest}",
        context.handoff_sequence,
    )


def sequence_gap(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-46."""
    missing = context.missing_sequences
    if not missing:
        return
    named = spans(missing)
    yield Hit(
        "HC-46",
        "/handoff_sequence",
        f"Before handoff_sequence {context.handoff_sequence} the session lacks {named}: a checkpoint was "
        "lost, or dispatched without being written first.",
        named,
        context.handoff_sequence,
    )


def spans(numbers: Iterable[int], limit: int = 5) -> str:
    """`3 to 8, 11`: rising numbers as spans, at most `limit` of them."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    parts = [f"{first}" if first == last else f"{first} to {last}" for first, last in runs[:limit]]
    return ", ".join(parts) + (" and more" if len(runs) > limit else "")


def handoff_loop(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-78."""
    count = context.equal_posts + 1
    if count < EQUAL_POSTS:
        return
    facts = submission.facts
    yield Hit(
        "HC-78",
        view(submission).pointer("target_role", "/target_role"),
        f"{facts.agent_role or 'The sender'} hands task {facts.task_id or '(none)'} to "
        f"{facts.target_role or '(nobody)'} with the same content for the {_ordinal(count)} time: nobody "
        "makes progress.",
        "new content",
        count,
    )


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def ping_pong(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-80. `role_alternations` counts the turns between the two roles, the one this handoff makes "
    "included."""
    turns = context.role_alternations
    if turns < ALTERNATIONS:
        return
    facts = submission.facts
    yield Hit(
        "HC-80",
        view(submission).pointer("agent_role", "/agent_role"),
        f"{facts.agent_role} and {facts.target_role} have passed task {facts.task_id or '(none)'} back and "
        f"forth {turns + 1} times. Somebody must decide it.",
        f"at most {ALTERNATIONS} times",
        turns + 1,
    )


def colliding_call_ids(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-82."""
    if not context.foreign_call_ids:
        return
    places = {output.call_id: f"{output.pointer}/call_id" for output in view(submission).tool_outputs}
    for call_id in submission.facts.call_ids:
        session = context.foreign_call_ids.get(call_id)
        if session is not None:
            yield Hit(
                "HC-82",
                places.get(call_id, ""),
                f"Tool call {shown(call_id, 80)} has another result in session {session}: the id was "
                "copied, or two tools count the same numbers.",
                "an id of its own",
                shown(call_id),
            )


def missing_return(*, target_role: str, deadline: str) -> Hit:
    """HC-79, made by the sweep that finds no way back after acknowledgement + timeout."""
    return Hit(
        "HC-79",
        "/handoff_target/expected_return",
        f"expected_return was true, but {target_role} handed nothing back by {deadline}.",
        f"a handoff from {target_role}",
    )


CHECKS = (
    older_than_predecessor,
    sequence_regression,
    sequence_gap,
    handoff_loop,
    ping_pong,
    colliding_call_ids,
)
