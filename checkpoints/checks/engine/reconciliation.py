"""Unknown outcomes and what is kept to resolve them: EC-17 to EC-24, EC-26, EC-27, EC-28, EC-45."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkpoints.checks.engine_reading import (
    counter,
    enumerated,
    flag,
    is_blank,
    objects,
    retained_snapshot,
    tool_results,
)
from checkpoints.checks.shape import shown
from checkpoints.types import CheckContext, Hit, JSONObject, Submission


def the_flag_fits_the_tool_results(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-17, EC-18: blocked exactly where an outcome is unknown."""
    payload = submission.payload
    required = flag(payload, "reconciliationRequired")
    results = tool_results(payload)
    unknown = [result for result in results.items if result.outcome == "indeterminate"]
    if unknown and required is False:
        names = enumerated(result.id for result in unknown)
        yield Hit(
            "EC-17",
            "/reconciliationRequired",
            f"The outcome of {names} is indeterminate but reconciliationRequired is false: the engine would go on as "
            "if it were known.",
            True,
            False,
        )
    all_known = results.whole and not unknown and all(result.outcome for result in results.items)
    if required and payload.get("modelReconciliation") is None and all_known:
        yield Hit(
            "EC-18",
            "/reconciliationRequired",
            "reconciliationRequired is true but no tool result is indeterminate and modelReconciliation is missing: "
            "neither resume call accepts this, and the turn is blocked for ever.",
            False,
            True,
        )


def one_outcome_is_unknown_at_a_time(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-19, EC-20: a model call that waits for an answer blocks the turn, and no tool waits beside it."""
    payload = submission.payload
    if not isinstance(payload.get("modelReconciliation"), dict):
        return
    unknown = [result.id for result in tool_results(payload).items if result.outcome == "indeterminate"]
    if unknown:
        names = enumerated(unknown)
        yield Hit(
            "EC-19",
            "/modelReconciliation",
            f"modelReconciliation stands beside the indeterminate result of {names}: tools and models are reconciled "
            "by different calls, and each refuses this checkpoint.",
            "one of the two",
            names,
        )
    if flag(payload, "reconciliationRequired") is False:
        yield Hit(
            "EC-20",
            "/reconciliationRequired",
            "modelReconciliation is kept but reconciliationRequired is false: a resume would call the model a second "
            "time.",
            True,
            False,
        )


def the_model_call_is_the_active_one(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-21, EC-22: checkpoint, reconciliation and retained request name one invocation."""
    payload = submission.payload
    model = payload.get("modelReconciliation")
    if not isinstance(model, dict):
        return
    invocation, active = model.get("invocationId"), payload.get("activeInvocationId")
    if not isinstance(invocation, str):
        return
    if (active is None or isinstance(active, str)) and active != invocation:
        yield Hit(
            "EC-21",
            "/modelReconciliation/invocationId",
            f"modelReconciliation is about {shown(invocation)}, but activeInvocationId is {shown(active)}: the engine "
            "refuses the host's answer.",
            active,
            invocation,
        )
    kept = (retained_snapshot(payload) or {}).get("invocationId")
    if isinstance(kept, str) and kept != invocation:
        yield Hit(
            "EC-22",
            "/modelReconciliation/request/context/invocationId",
            f"The retained request is that of {shown(kept)}, but {shown(invocation)} is to be reconciled.",
            invocation,
            kept,
        )


def the_snapshot_is_of_this_turn(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-23, EC-24: session, turn and iteration of the retained snapshot."""
    payload = submission.payload
    snapshot = retained_snapshot(payload)
    if snapshot is None:
        return
    for name in ("sessionId", "turnId"):
        own, kept = payload.get(name), snapshot.get(name)
        if isinstance(own, str) and isinstance(kept, str) and own != kept:
            yield Hit(
                "EC-23",
                f"/modelReconciliation/request/context/{name}",
                f"The retained snapshot names {name} {shown(kept)}, the checkpoint {shown(own)}.",
                own,
                kept,
            )
    iteration, kept_iteration = counter(payload, "iteration"), counter(snapshot, "iteration")
    if iteration is not None and kept_iteration is not None and iteration != kept_iteration:
        yield Hit(
            "EC-24",
            "/modelReconciliation/request/context/iteration",
            f"The retained snapshot is of iteration {kept_iteration}, the checkpoint of iteration {iteration}: a retry "
            "is another attempt, not another iteration.",
            iteration,
            kept_iteration,
        )


def context_decisions_are_clear(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-26, EC-27: each candidate decided once, ranks among the included only."""
    snapshot = retained_snapshot(submission.payload)
    if snapshot is None:
        return
    first: dict[str, str] = {}
    for place, decision in objects(snapshot, "decisions").items:
        at = f"/modelReconciliation/request/context/{place}"
        candidate = decision.get("candidateId")
        if isinstance(candidate, str):
            earlier = first.setdefault(candidate, place)
            if earlier != place:
                yield Hit(
                    "EC-26",
                    f"{at}/candidateId",
                    f"Candidate {shown(candidate)} is decided in {earlier} and in {place}: nobody can tell whether the "
                    "model saw it.",
                    "one decision for each candidate",
                    shown(candidate),
                )
        rank = decision.get("rank")
        if decision.get("disposition") == "excluded" and rank is not None:
            yield Hit(
                "EC-27",
                f"{at}/rank",
                f"{place} excludes {shown(candidate)} and gives it rank {shown(rank)}: only included ones have a rank.",
                None,
                rank if isinstance(rank, int) else shown(rank),
            )


def the_reviewer_is_told_why(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-28."""
    model = submission.payload.get("modelReconciliation")
    if isinstance(model, dict):
        yield from _unusable_reason(model)


def _unusable_reason(model: JSONObject) -> Iterator[Hit]:
    attempt = model.get("failedAttempt")
    if type(attempt) is int and attempt < 0:
        yield Hit(
            "EC-28",
            "/modelReconciliation/failedAttempt",
            f"failedAttempt is {shown(attempt)}: attempts are counted from 0.",
            "0 or more",
            attempt,
        )
    message = model.get("message")
    if isinstance(message, str) and is_blank(message):
        yield Hit(
            "EC-28",
            "/modelReconciliation/message",
            "The message of modelReconciliation is empty: the person who must resolve it is not told why the outcome "
            "is unknown.",
            "the reason",
            message,
        )


def an_unknown_call_is_not_counted(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-45."""
    payload = submission.payload
    iteration, completed = counter(payload, "iteration"), counter(payload, "completedModelIterations")
    if not isinstance(payload.get("modelReconciliation"), dict) or iteration is None or completed is None:
        return
    if completed > iteration:
        yield Hit(
            "EC-45",
            "/completedModelIterations",
            f"The model's outcome at iteration {iteration} is unknown, but completedModelIterations is {completed} and "
            "counts it as complete.",
            iteration,
            completed,
        )


CHECKS = (
    the_flag_fits_the_tool_results,
    one_outcome_is_unknown_at_a_time,
    the_model_call_is_the_active_one,
    the_snapshot_is_of_this_turn,
    context_decisions_are_clear,
    the_reviewer_is_told_why,
    an_unknown_call_is_not_counted,
)
