"""The tool batch that a model response opened: EC-34, EC-35, EC-36, EC-37, EC-40, EC-50."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from checkpoints.checks.engine_reading import (
    ToolRequest,
    ToolResult,
    first_names,
    is_blank,
    pending_requests,
    retained_requests,
    retained_response,
    tool_messages,
    tool_results,
)
from checkpoints.checks.shape import shown
from checkpoints.types import CheckContext, Hit, Submission


def pending_tools_have_their_invocation(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-34. An invocation that stays named when nothing is pending is the engine's habit, no fault."""
    pending = pending_requests(submission.payload).items
    if pending and is_blank(submission.payload.get("activeInvocationId")):
        yield Hit(
            "EC-34",
            "/activeInvocationId",
            f"{_counted(pending)} but activeInvocationId is missing: the results could not be told from those of "
            "another round.",
            "the invocation that asked for them",
            submission.payload.get("activeInvocationId"),
        )


def pending_tools_were_asked_for(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-35, where the response that asked is retained."""
    asked = retained_requests(submission.payload)
    if retained_response(submission.payload) is None or not asked.whole:
        return
    known = {request.id for request in asked.items}
    for request in pending_requests(submission.payload).items:
        if request.id not in known:
            yield Hit(
                "EC-35",
                f"/{request.place}/id",
                f"{request.place} would run {shown(request.name)} as {shown(request.id)}, which the model never asked "
                "for: an injected call runs with the agent's rights.",
                first_names(item.id for item in asked.items),
                shown(request.id),
            )


def no_requested_tool_is_lost(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-36."""
    pending, completed = (
        pending_requests(submission.payload),
        tool_results(submission.payload),
    )
    if not (pending.whole and completed.whole):
        return
    known = {item.id for item in pending.items} | {item.id for item in completed.items}
    for request in retained_requests(submission.payload).items:
        if request.id not in known:
            known.add(request.id)
            yield Hit(
                "EC-36",
                f"/{request.place}/id",
                f"The model asked for {shown(request.name)} as {shown(request.id)}, but it is neither in "
                "pendingToolRequests nor in completedToolResults: the batch can never be completed.",
                "pending or completed",
                shown(request.id),
            )


def the_order_is_the_models(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-37: results commit in the order of the model's requests, whatever ran first."""
    order: dict[str, int] = {}
    for request in retained_requests(submission.payload).items:
        order.setdefault(request.id, len(order))
    pending = pending_requests(submission.payload).items
    completed = tool_results(submission.payload).items
    # An id in both lists is EC-14 and says nothing about the order.
    both = {item.id for item in pending} & {item.id for item in completed}
    waiting = [item for item in pending if item.id in order and item.id not in both]
    done = [item for item in completed if item.id in order and item.id not in both]
    yield from _out_of_order(waiting, order, "pendingToolRequests")
    yield from _out_of_order(done, order, "completedToolResults")
    if waiting and done:
        first, last = (
            min(waiting, key=lambda item: order[item.id]),
            max(done, key=lambda item: order[item.id]),
        )
        if order[first.id] < order[last.id]:
            yield Hit(
                "EC-37",
                f"/{last.place}",
                f"{last.place} holds the result of {shown(last.id)}, but {shown(first.id)}, which the model asked for "
                f"before it, still waits in {first.place}.",
                first_names(order),
                shown(last.id),
            )


def _out_of_order(
    items: Sequence[ToolRequest | ToolResult], order: dict[str, int], name: str
) -> Iterator[Hit]:
    for before, after in pairwise(items):
        if order[after.id] < order[before.id]:
            yield Hit(
                "EC-37",
                f"/{name}",
                f"{before.place} ({shown(before.id)}) stands before {after.place} ({shown(after.id)}), but the model "
                "asked the other way round.",
                first_names(sorted((item.id for item in items), key=order.__getitem__)),
                first_names(item.id for item in items),
            )
            return


def pending_tools_have_their_response(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-40: the shape of older engines."""
    pending = pending_requests(submission.payload).items
    if pending and submission.payload.get("pendingModelResponse") is None:
        yield Hit(
            "EC-40",
            "/pendingModelResponse",
            f"{_counted(pending)} without the response that asked for them: the engine accepts it as an older shape, "
            "but cannot rebuild the batch.",
            "the model's response",
            None,
        )


def unknown_results_can_be_reconciled(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-50: without the response, the engine replaces the tool message; there must be one."""
    payload = submission.payload
    messages = tool_messages(payload)
    if (
        payload.get("pendingModelResponse") is not None
        or payload.get("messages") is None
        or not messages.whole
    ):
        return
    present = {message.call_id for message in messages.items}
    for result in tool_results(payload).items:
        if result.outcome == "indeterminate" and result.id not in present:
            yield Hit(
                "EC-50",
                f"/{result.place}/requestId",
                f"The outcome of {shown(result.id)} is unknown, no response is retained and no message shows its "
                "result: reconciling it fails, because the engine finds no message to replace.",
                f"a message with tool_call_id {shown(result.id)}",
                None,
            )


def _counted(pending: Sequence[ToolRequest]) -> str:
    if len(pending) == 1:
        return f"Tool request {shown(pending[0].id)} is pending"
    return f"{len(pending)} tool requests are pending, the first is {shown(pending[0].id)},"


CHECKS = (
    pending_tools_have_their_invocation,
    pending_tools_were_asked_for,
    no_requested_tool_is_lost,
    the_order_is_the_models,
    pending_tools_have_their_response,
    unknown_results_can_be_reconciled,
)
