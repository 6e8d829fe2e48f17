"""Where the model-visible state is held: EC-11, EC-12, EC-13, EC-54."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkpoints.checks.engine_reading import (
    brief,
    objects,
    retained_response,
    retained_snapshot,
)
from checkpoints.checks.shape import place, shown
from checkpoints.types import CheckContext, Hit, JSONObject, JSONValue, Submission


def references_fit_the_portability(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-11 and EC-12, in the checkpoint, the retained snapshot and the announced next state."""
    for pointer, state in _states(submission.payload):
        references = state.get("delegatedState")
        if references is not None and not isinstance(references, list):
            continue
        count = len(references or ())
        if state.get("portability") == "portable" and count:
            yield Hit(
                "EC-11",
                f"{pointer}/delegatedState",
                f"{place(pointer)} is portable and carries {_counted(count)} to provider-held state: the engine "
                "refuses it, because portable means that all state is here.",
                "no references",
                _named(state),
            )
        elif state.get("portability") == "delegated" and not count:
            yield Hit(
                "EC-12",
                f"{pointer}/delegatedState",
                f"{place(pointer)} is delegated and names no reference: the state the provider holds cannot be found.",
                "at least one reference",
                references,
            )


def the_receiver_can_execute(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-13: a hint, not a fault."""
    state = submission.payload.get("contextState")
    portability = state.get("portability") if isinstance(state, dict) else None
    if portability in ("delegated", "opaque"):
        yield Hit(
            "EC-13",
            "/contextState/portability",
            f"contextState is {portability}: part of the state is held by the provider, so a receiver elsewhere may be "
            "unable to execute this again.",
            "portable",
            portability,
        )


def the_announced_state_arrived(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-54: the engine copies nextContextState into contextState when it applies the response."""
    response = retained_response(submission.payload) or {}
    announced, held = response.get("nextContextState"), submission.payload.get("contextState")
    if not isinstance(announced, dict) or not isinstance(held, dict):
        return
    if not (_can_be_compared(announced) and _can_be_compared(held)) or _carries(held, announced):
        return
    yield Hit(
        "EC-54",
        "/contextState",
        f"The retained response announces {_described(announced)}, but contextState is {_described(held)}: the "
        "provider's transition is lost.",
        brief(announced),
        brief(held),
    )


def _states(payload: JSONObject) -> Iterator[tuple[str, JSONObject]]:
    holders = (
        ("/contextState", payload, "contextState"),
        ("/modelReconciliation/request/context/contextState", retained_snapshot(payload), "contextState"),
        ("/pendingModelResponse/nextContextState", retained_response(payload), "nextContextState"),
    )
    for pointer, holder, name in holders:
        state = holder.get(name) if holder is not None else None
        if isinstance(state, dict):
            yield pointer, state


def _can_be_compared(state: JSONObject) -> bool:
    return isinstance(state.get("portability"), str) and objects(state, "delegatedState").whole


def _carries(held: JSONObject, announced: JSONObject) -> bool:
    if held.get("portability") != announced.get("portability"):
        return False
    # A response that names no list keeps the references the run already had.
    return announced.get("delegatedState") is None or _references(held) == _references(announced)


def _references(state: JSONObject) -> list[tuple[JSONValue, ...]]:
    return [
        tuple(reference.get(name) for name in ("provider", "kind", "id"))
        for _, reference in objects(state, "delegatedState").items
    ]


def _described(state: JSONObject) -> str:
    return f"{shown(state.get('portability'))} with {_counted(len(objects(state, 'delegatedState').items))}"


def _counted(count: int) -> str:
    return "1 reference" if count == 1 else f"{count} references"


def _named(state: JSONObject) -> list[JSONValue]:
    return ["/".join(shown(part) for part in reference) for reference in _references(state)[:5]]


CHECKS = (references_fit_the_portability, the_receiver_can_execute, the_announced_state_arrived)
