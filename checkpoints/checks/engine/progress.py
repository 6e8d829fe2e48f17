"""How far the turn is: final output, counters, resume marks, usage.

EC-29 to EC-33, EC-43, EC-44, EC-46, EC-47, EC-51.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkpoints.checks.engine_reading import (
    brief,
    counter,
    enumerated,
    flag,
    pending_requests,
    retained_requests,
    retained_response,
    whole_number,
)
from checkpoints.types import CheckContext, Hit, JSONObject, Submission


def a_final_output_leaves_nothing_open(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-29, EC-30, EC-31: what the engine would never come back to once it commits."""
    payload = submission.payload
    if flag(payload, "finalOutputReady") is not True:
        return
    pending = pending_requests(payload).items
    if pending:
        yield Hit(
            "EC-29",
            "/finalOutputReady",
            f"finalOutputReady is true while {enumerated(item.id for item in pending)} stands in pendingToolRequests: "
            "the engine commits at once and never runs it.",
            False,
            True,
        )
    asked = retained_requests(payload).items
    if asked:
        yield Hit(
            "EC-30",
            "/pendingModelResponse",
            f"finalOutputReady is true while the response that asked for {enumerated(item.id for item in asked)} is "
            "retained: its batch would never reach the conversation.",
            None,
            enumerated(item.id for item in asked),
        )
    if flag(payload, "reconciliationRequired"):
        yield Hit(
            "EC-31",
            "/finalOutputReady",
            "finalOutputReady says commit and reconciliationRequired says blocked: both are true.",
            False,
            True,
        )


def the_output_fits_the_flag(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-32, EC-33."""
    payload = submission.payload
    ready, output = flag(payload, "finalOutputReady"), payload.get("pendingOutput")
    if ready is True and output is None:
        yield Hit(
            "EC-32",
            "/pendingOutput",
            "finalOutputReady is true but there is no pendingOutput: the turn would be committed as an empty success. "
            "That is right only if the model returned nothing.",
            "the final output",
            None,
        )
    elif ready is False and output is not None:
        yield Hit(
            "EC-33",
            "/pendingOutput",
            "pendingOutput is there but finalOutputReady is false: the output would be dropped.",
            None,
            brief(output),
        )


def completed_rounds_are_counted(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-43, EC-44: a round is counted when its response is applied, once."""
    payload = submission.payload
    iteration, completed = counter(payload, "iteration"), counter(payload, "completedModelIterations")
    if iteration is None or completed is None:
        return
    if not iteration <= completed <= iteration + 1:
        yield Hit(
            "EC-43",
            "/completedModelIterations",
            f"completedModelIterations is {completed} at iteration {iteration}: it is {iteration} before the response "
            f"is applied and {iteration + 1} after.",
            [iteration, iteration + 1],
            completed,
        )
    applied = "a model response is retained" if retained_response(payload) is not None else ""
    applied = applied or ("the final output is ready" if flag(payload, "finalOutputReady") else "")
    if applied and completed <= iteration:
        yield Hit(
            "EC-44",
            "/completedModelIterations",
            f"At iteration {iteration} {applied}, but completedModelIterations is {completed}: the round is not "
            "counted, and the limit of rounds could be passed.",
            iteration + 1,
            completed,
        )


def the_same_round_is_not_run_twice(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-46: the mark says that the checkpoint was taken before the model was called."""
    payload = submission.payload
    if flag(payload, "resumeSameIteration") is not True:
        return
    evidence = list(_recorded_effects(payload))
    if evidence:
        yield Hit(
            "EC-46",
            "/resumeSameIteration",
            f"resumeSameIteration is true, but the model was already called: {', '.join(evidence)}. Resuming would "
            "repeat a committed effect.",
            False,
            True,
        )


def _recorded_effects(payload: JSONObject) -> Iterator[str]:
    iteration, completed = counter(payload, "iteration"), counter(payload, "completedModelIterations")
    if iteration is not None and completed is not None and completed > iteration:
        yield f"completedModelIterations is {completed} at iteration {iteration}"
    if retained_response(payload) is not None:
        yield "pendingModelResponse holds its response"
    if pending_requests(payload).items:
        yield "its tool requests are pending"
    if flag(payload, "finalOutputReady"):
        yield "the final output is ready"


def the_policy_mark_is_not_left_behind(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-47."""
    payload = submission.payload
    if flag(payload, "policyAppliedForIteration") and flag(payload, "resumeSameIteration") is False:
        yield Hit(
            "EC-47",
            "/policyAppliedForIteration",
            "policyAppliedForIteration is true without resumeSameIteration: the engine writes them only together, and "
            "the next round would skip the host's policy.",
            False,
            True,
        )


def token_counts_add_up(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-51, in the retained response."""
    usage = (retained_response(submission.payload) or {}).get("usage")
    if not isinstance(usage, dict):
        return
    counts = {name: whole_number(usage.get(name)) for name in ("inputTokens", "outputTokens", "totalTokens")}
    total = counts["totalTokens"]
    for name, count in counts.items():
        pointer = f"/pendingModelResponse/usage/{name}"
        if count is not None and count < 0:
            yield Hit(
                "EC-51", pointer, f"{name} is {count}: nothing uses fewer than no tokens.", "0 or more", count
            )
        elif count is not None and total is not None and 0 <= total < count:
            yield Hit(
                "EC-51",
                "/pendingModelResponse/usage/totalTokens",
                f"totalTokens is {total}, less than {name} {count}: the total is the provider's or the sum of both.",
                f"{count} or more",
                total,
            )


CHECKS = (
    a_final_output_leaves_nothing_open,
    the_output_fits_the_flag,
    completed_rounds_are_counted,
    the_same_round_is_not_run_twice,
    the_policy_mark_is_not_left_behind,
    token_counts_add_up,
)
