"""A checkpoint against the one before it in the same run: EH-02 to EH-07, EH-10, EH-12."""

from __future__ import annotations

from collections.abc import Iterable

from checkpoints.canonical.equality import same_value
from checkpoints.checks.engine_history.predecessor import last_sequence, pair, rewrite
from checkpoints.checks.engine_reading import (
    ToolResult,
    brief,
    counter,
    enumerated,
    message_list,
    objects,
    pending_requests,
    tool_results,
)
from checkpoints.checks.shape import shown
from checkpoints.types import CheckContext, Hit, JSONObject, JSONValue, Submission


def the_stream_goes_on(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-02 and EH-06: sequence numbers rise, rounds never go back."""
    found = pair(submission, context)
    if found is None:
        return
    before, now = last_sequence(found.before), last_sequence(found.now)
    if before is not None and now is not None and now <= before:
        yield Hit(
            "EH-02",
            "/lastSequence",
            f"lastSequence is {now}, but {found.label} of the same run already had {before}: this snapshot is stale, "
            "or the run was forked.",
            f"more than {before}",
            now,
        )
    for name in ("iteration", "completedModelIterations"):
        earlier, later = counter(found.before, name), counter(found.now, name)
        if earlier is not None and later is not None and later < earlier:
            yield Hit(
                "EH-06",
                f"/{name}",
                f"{name} went back from {earlier} in {found.label} to {later}: this snapshot is stale, or the run was "
                "forked.",
                f"{earlier} or more",
                later,
            )


def committed_effects_stay_committed(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-03, EH-04, EH-05: what a tool did once is neither forgotten, changed nor done again."""
    found = pair(submission, context)
    if found is None:
        return
    earlier = {result.id: result for result in reversed(tool_results(found.before).items)}
    listed, pending = tool_results(found.now), pending_requests(found.now)
    later = {result.id: result for result in reversed(listed.items)}
    again = {request.id: request.place for request in pending.items}
    for request_id, result in earlier.items():
        if request_id in again:
            yield Hit(
                "EH-05",
                f"/{again[request_id]}/id",
                f"Request {shown(request_id)} had a result in {found.label} and stands in {again[request_id]} now: "
                "resuming would run it a second time.",
                "in completedToolResults",
                shown(request_id),
            )
        elif request_id in later:
            yield from _changed(result, later[request_id], found.label)
        elif listed.whole and pending.whole:
            yield Hit(
                "EH-03",
                "/completedToolResults",
                f"The result of {shown(request_id)} stood in {found.label} and is gone: a resume could repeat the "
                "effect.",
                shown(request_id),
                None,
            )


def _changed(before: ToolResult, now: ToolResult, label: str) -> Iterable[Hit]:
    """Only an indeterminate result may become another one."""
    if before.outcome not in ("success", "failed") or now.outcome is None:
        return
    for name in ("outcome", "output", "name", "errorKind"):
        earlier, later = before.item.get(name), now.item.get(name)
        if not same_value(earlier, later):
            yield Hit(
                "EH-04",
                f"/{now.place}/{name}",
                f"The result of {shown(now.id)} was {shown(earlier)} in {name} of {label} and is {shown(later)} now: a "
                f"{before.outcome} result is final.",
                brief(earlier),
                brief(later),
            )
            return


def the_stable_prefix_stays(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-07."""
    found = pair(submission, context)
    if found is None:
        return
    before, now = message_list(found.before), message_list(found.now)
    prefix = counter(found.before, "stablePrefixMessages")
    if before is None or now is None or not prefix:
        return
    for index, (earlier, later) in enumerate(zip(before[:prefix], now, strict=False)):
        if not _same_message(earlier, later):
            explained, severity = rewrite(submission, found)
            if not explained:
                yield Hit(
                    "EH-07",
                    f"/messages/{index}",
                    f"messages/{index} belongs to the {prefix} stable messages of {found.label} and was changed "
                    f'without a policy_applied event: "{_said(earlier)}" is "{_said(later)}" now.',
                    _said(earlier),
                    _said(later),
                    severity,
                )
            return


def inputs_stay_the_same(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-10."""
    found = pair(submission, context)
    if found is None:
        return
    before, now = found.before.get("inputs"), found.now.get("inputs")
    if same_value(before, now):
        return
    if isinstance(before, dict) and isinstance(now, dict):
        names = [name for name in {**before, **now} if not _same_member(before, now, name)]
        earlier: JSONValue = {name: before[name] for name in names if name in before}
        later: JSONValue = {name: now[name] for name in names if name in now}
        what = f"inputs changed in {enumerated(names)}"
    else:
        earlier, later, what = before, now, f"inputs changed from {shown(before)} to {shown(now)}"
    yield Hit(
        "EH-10",
        "/inputs",
        f"{what} since {found.label}: within a turn they are fixed, so that a resume does the same again.",
        brief(earlier),
        brief(later),
    )


def the_conversation_does_not_shrink(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-12."""
    found = pair(submission, context)
    if found is None:
        return
    before, now = message_list(found.before), message_list(found.now)
    if before is None or now is None or len(now) >= len(before):
        return
    explained, severity = rewrite(submission, found)
    if not explained:
        yield Hit(
            "EH-12",
            "/messages",
            f"messages shrank from {len(before)} in {found.label} to {len(now)} without a policy_applied event: part "
            "of the conversation was cut silently.",
            f"{len(before)} or more",
            len(now),
            severity,
        )


def _same_member(one: JSONObject, other: JSONObject, name: str) -> bool:
    return name in one and name in other and same_value(one[name], other[name])


def _same_message(one: JSONValue, other: JSONValue) -> bool:
    """Messages without metadata get {} from a loader: that is no change."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return same_value(one, other)
    return same_value(_with_metadata(one), _with_metadata(other))


def _with_metadata(message: JSONObject) -> JSONObject:
    return {**message, "metadata": message.get("metadata") or {}}


def _said(message: JSONValue) -> str:
    """The first text of a message, cut: enough to recognise it."""
    if isinstance(message, dict):
        for _, part in objects(message, "parts").items:
            if isinstance(part.get("value"), str):
                return shown(part["value"])
        return f"a {shown(message.get('role'))} message"
    return shown(message)


CHECKS = (
    the_stream_goes_on,
    committed_effects_stay_committed,
    the_stable_prefix_stays,
    inputs_stay_the_same,
    the_conversation_does_not_shrink,
)
