"""Effects of unknown outcome once a person has looked them up (contract §4). Rules without a clock or a database.

`outcomes` maps the id of a tool request, or of a model invocation, to `happened` or `did_not_happen`. What happened
is committed and must not be repeated; what did not happen is neither, so the receiver may do it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checkpoints.formats import resume_effect
from checkpoints.types import Facts, JSONObject

HAPPENED, DID_NOT_HAPPEN = "happened", "did_not_happen"


@dataclass(frozen=True, slots=True)
class Effects:
    """`committed`: never to be repeated. `unknown`: nobody has found out yet."""

    committed: tuple[str, ...]
    unknown: tuple[str, ...]


def effects(facts: Facts, outcomes: Mapping[str, str]) -> Effects:
    """The document's effects with what people found out about them."""
    happened = tuple(key for key in facts.needs_reconciliation if outcomes.get(key) == HAPPENED)
    return Effects(
        committed=(*facts.already_committed, *happened),
        unknown=tuple(key for key in facts.needs_reconciliation if key not in outcomes),
    )


def effect_of_resume(payload: JSONObject, facts: Facts, outcomes: Mapping[str, str]) -> str:
    """What resuming this EngineCheckpoint with these answers does; see `formats.resume_effect`.

    A blocked turn stays blocked while one effect is unknown, and where the document names none: then there is
    nothing that an answer could free. A model call that is looked up ends or repeats its own iteration, and so does
    a batch of tools of which one has to run.
    """
    wanted = facts.needs_reconciliation
    if not wanted or effects(facts, outcomes).unknown:
        return resume_effect(payload)
    unblocked = resume_effect({**payload, "reconciliationRequired": False})
    if unblocked == "next_iteration" and (
        payload.get("modelReconciliation") is not None
        or any(outcomes[key] == DID_NOT_HAPPEN for key in wanted)
    ):
        return "same_iteration"
    return unblocked


def outcomes_of(reconciliations: Sequence[JSONObject]) -> dict[str, str]:
    """Request id to outcome, of the answers as a decision keeps them; a later one counts."""
    return {str(item["request_id"]): str(item["outcome"]) for item in reconciliations}
