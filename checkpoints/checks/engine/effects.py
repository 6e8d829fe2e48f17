"""Tool requests against results, one by one: EC-14, EC-15, EC-16, EC-38, EC-39, EC-41, EC-42."""

from __future__ import annotations

from collections.abc import Iterable

from checkpoints.checks.engine.arguments import same_arguments
from checkpoints.checks.engine_reading import (
    ToolRequest,
    ToolResult,
    brief,
    is_blank,
    pending_requests,
    retained_requests,
    tool_results,
)
from checkpoints.checks.shape import shown
from checkpoints.types import CheckContext, Hit, Submission


def no_request_is_pending_and_completed(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-14."""
    completed = {result.id: result.place for result in reversed(tool_results(submission.payload).items)}
    for request in pending_requests(submission.payload).items:
        if request.id in completed:
            yield Hit(
                "EC-14",
                f"/{request.place}/id",
                f"Request {shown(request.id)} stands in {request.place} and in {completed[request.id]}: resuming "
                "would run it again.",
                "in one of the two lists",
                shown(request.id),
            )


def request_ids_are_unique(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-15, among the pending requests and among those of the retained response."""
    for requests in (
        pending_requests(submission.payload).items,
        retained_requests(submission.payload).items,
    ):
        first: dict[str, str] = {}
        for request in requests:
            earlier = first.setdefault(request.id, request.place)
            if earlier != request.place:
                yield Hit(
                    "EC-15",
                    f"/{request.place}/id",
                    f"Request {shown(request.id)} stands in {earlier} and in {request.place}: it would run twice.",
                    "an id of its own for each request",
                    shown(request.id),
                )


def each_request_has_one_result(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-16."""
    first: dict[str, str] = {}
    for result in tool_results(submission.payload).items:
        earlier = first.setdefault(result.id, result.place)
        if earlier != result.place:
            yield Hit(
                "EC-16",
                f"/{result.place}/requestId",
                f"Request {shown(result.id)} has a result in {earlier} and in {result.place}: the engine takes the "
                "first and loses the second.",
                "one result for each request",
                shown(result.id),
            )


def names_agree_with_the_request(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-38: one id, two tools."""
    asked = _asked(submission)
    named: list[ToolRequest | ToolResult] = [*pending_requests(submission.payload).items]
    named += tool_results(submission.payload).items
    for item in named:
        request = asked.get(item.id)
        if request is None or request.name is None or item.name is None or request.name == item.name:
            continue
        yield Hit(
            "EC-38",
            f"/{item.place}/name",
            f"{item.place} names the tool {shown(item.name)}, but the model asked for {shown(request.name)} under "
            f"{shown(item.id)}.",
            shown(request.name),
            shown(item.name),
        )


def pending_arguments_are_those_asked_for(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-39: what a person approves must be what the tool receives."""
    asked = _asked(submission)
    for item in pending_requests(submission.payload).items:
        request = asked.get(item.id)
        if request is not None and not same_arguments(item.arguments, request.arguments):
            yield Hit(
                "EC-39",
                f"/{item.place}/arguments",
                f"The pending arguments of {shown(item.id)} ({_named(item)}) are not those the model asked for in "
                f"{request.place}: one set would be approved and another executed.",
                brief(request.arguments),
                brief(item.arguments),
            )


def errors_are_classified(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-41 and EC-42: an errorKind exactly where the result is no success."""
    for result in tool_results(submission.payload).items:
        kind = result.item.get("errorKind")
        if kind is not None and not isinstance(kind, str):
            continue
        if result.outcome == "success" and not is_blank(kind):
            yield Hit(
                "EC-41",
                f"/{result.place}/errorKind",
                f"{result.place} ({shown(result.id)}) is a success with the errorKind {shown(kind)}: one of them is "
                "wrong.",
                None,
                brief(kind),
            )
        elif result.outcome in ("failed", "indeterminate") and is_blank(kind):
            yield Hit(
                "EC-42",
                f"/{result.place}/errorKind",
                f"{result.place} ({shown(result.id)}) is {result.outcome} without an errorKind: nobody can tell what "
                "went wrong.",
                "an errorKind, for example tool_error",
                kind,
            )


def _asked(submission: Submission) -> dict[str, ToolRequest]:
    return {request.id: request for request in reversed(retained_requests(submission.payload).items)}


def _named(request: ToolRequest) -> str:
    return shown(request.name) if request.name else "no tool named"


CHECKS = (
    no_request_is_pending_and_completed,
    request_ids_are_unique,
    each_request_has_one_result,
    names_agree_with_the_request,
    pending_arguments_are_those_asked_for,
    errors_are_classified,
)
