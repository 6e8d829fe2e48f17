"""What a Prompty engine would do with this checkpoint once it is approved, in words for the decision panel."""

from __future__ import annotations

from collections.abc import Mapping

from checkpoints.formats.reading import integer, mappings, text
from checkpoints.handoffs.reconciling import DID_NOT_HAPPEN, HAPPENED, effect_of_resume
from checkpoints.types import JSONObject, Submission
from reviewqueue.pages import words

ENGINE = "prompty.engine/1"
SHOWN = 3


def sentences(submission: Submission) -> list[str]:
    """One sentence per course that a resume can take; none for other formats."""
    if submission.format != ENGINE:
        return []
    wanted = submission.facts.needs_reconciliation
    if not wanted:
        return [_course(submission, {})]
    happened = _course(submission, dict.fromkeys(wanted, HAPPENED))
    repeated = _course(submission, dict.fromkeys(wanted, DID_NOT_HAPPEN))
    number = words.plural(len(wanted), "effect")
    blocked = (
        f"The turn stays blocked until it is known whether {number} happened. What happened is reported as "
        "committed and is not repeated; what did not happen may run."
    )
    if happened == repeated:
        return [blocked, f"Once that is known: {_inside(happened)}"]
    if len(wanted) == 1:
        return [blocked, f"If it happened: {_inside(happened)}", f"If not: {_inside(repeated)}"]
    return [blocked, f"If all happened: {_inside(happened)}", f"If none did: {_inside(repeated)}"]


def _course(submission: Submission, outcomes: Mapping[str, str]) -> str:
    payload = submission.payload
    effect = effect_of_resume(payload, submission.facts, outcomes)
    iteration = integer(payload, "iteration") or 0
    if effect == "blocked":
        return "The engine would stop at once: an outcome is to be reconciled, and the document names none."
    if effect == "commit_output":
        return "The engine commits the output that stands ready and does not call the model."
    if effect == "next_iteration":
        return f"The engine begins iteration {iteration + 1} with a new call of the model."
    model = text(payload.get("modelReconciliation"), "invocationId") if _is_model(payload) else None
    if model is not None:
        act = (
            "takes the answer that was found" if outcomes.get(model) == HAPPENED else "calls the model again"
        )
        return f"The engine {act}, still in iteration {iteration}."
    names = _to_run(payload, outcomes)
    if names:
        return f"The engine runs {names}, still in iteration {iteration}, and then reads the results."
    if payload.get("resumeSameIteration") is True:
        return f"The engine calls the model, still in iteration {iteration}."
    return f"The engine reads the results of its tools, still in iteration {iteration}; no tool runs again."


def _is_model(payload: JSONObject) -> bool:
    return isinstance(payload.get("modelReconciliation"), dict)


def _to_run(payload: JSONObject, outcomes: Mapping[str, str]) -> str:
    """Names of the tools that have not run, each with how often, in the order in which they stand."""
    again = [
        result
        for _, result in mappings(payload, "completedToolResults")
        if outcomes.get(text(result, "requestId") or "") == DID_NOT_HAPPEN
    ]
    calls = [*again, *(request for _, request in mappings(payload, "pendingToolRequests"))]
    names = [text(call, "name") or "a tool without a name" for call in calls]
    if len(names) > SHOWN:
        return f"{', '.join(names[:SHOWN])} and {len(names) - SHOWN} more tools"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _inside(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
