"""Holding an answer until a handoff is where the caller waits for it to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from checkpoints import waiting
from checkpoints.models import Handoff
from checkpoints.types import State

UNTIL: dict[str, frozenset[str]] = {
    "verdict": frozenset({State.RECEIVED.value}),
    "decided": frozenset({State.RECEIVED.value, State.FLAGGED.value, State.ESCALATED.value}),
}
"""The states in which a caller goes on waiting."""


@dataclass(frozen=True, slots=True)
class Held:
    """The handoff as it is now, and the headers that say how the waiting went."""

    handoff: Handoff
    headers: dict[str, str] = field(default_factory=dict)


def hold(load: Callable[[], Handoff], *, handoff_id: UUID, until: str, seconds: int) -> Held:
    """Wait at most `seconds`. Time or capacity over: the handoff as it is, with Retry-After."""

    def look() -> Handoff | None:
        handoff = load()
        return None if handoff.state in UNTIL[until] else handoff

    try:
        found = waiting.until(look, key=str(handoff_id), seconds=seconds)
    except waiting.WaitersFull:
        return Held(load(), {"Retry-After": str(waiting.RETRY_AFTER_SECONDS)})
    applied = {"Preference-Applied": f"wait={seconds}"}
    if found is not None:
        return Held(found, applied)
    return Held(load(), applied | {"Retry-After": str(waiting.RETRY_AFTER_SECONDS)})
