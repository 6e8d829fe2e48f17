"""The words of a handoff document: two vocabularies, one alias table (contract §2.6).

A **logical member** is what a check or a page asks for; its places say where a document may keep it, best first.
The payload is read before the envelope: it is what the receiver gets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from checkpoints.canonical import consistency_hash
from checkpoints.formats.reading import fold
from checkpoints.types import JSONObject, JSONValue

STATUSES: Final = ("in_progress", "blocked", "awaiting_approval", "completed")

ENVELOPE_MEMBERS: Final = (
    "format",
    "session_id",
    "handoff_sequence",
    "checkpoint_id",
    "previous_checkpoint_id",
    "attempt",
    "agent_id",
    "agent_role",
    "target_role",
    "task_id",
    "handoff_reason",
    "risk_level",
    "human_approval_required",
    "approval_ticket_reference",
    "context_fingerprint",
    "context_reference",
    "idempotency_key",
    "max_retries",
    "produced_at",
    "reported_issues",
    "source",
    "payload",
)

type Place = tuple[str, ...]

_TASK: Final = ("task_status", "task_state")  # either may be an object that holds what follows

PLACES: Final[dict[str, tuple[Place, ...]]] = {
    "agent_id": (("agent_id",), ("agent_instance_id",)),
    "task_id": (("task_id",), *((holder, "task_id") for holder in _TASK)),
    "task_status": tuple(place for holder in _TASK for place in ((holder,), (holder, "status"))),
    "completed_steps": (("completed_steps",), *((holder, "completed_steps") for holder in _TASK)),
    "in_progress_step": (("in_progress_step",), *((holder, "in_progress_step") for holder in _TASK)),
    "target_role": (("handoff_target", "target_role"), ("target_role",)),
    "handoff_reason": (("handoff_target", "handoff_reason"), ("handoff_reason",)),
    "expected_return": (("handoff_target", "expected_return"), ("expected_return",)),
    "idempotency_key": (("recovery_instructions", "idempotency_key"), ("idempotency_key",)),
    "max_retries": (("recovery_instructions", "max_retries"), ("max_retries",)),
    "rollback_notes": (("recovery_instructions", "rollback_notes"), ("rollback_notes",)),
    "user_intent": (("context_snapshot", "user_intent"), ("user_intent",)),
    "produced_at": (("timestamp",), ("produced_at",)),
    "reported_issues": (("reported_issues",), ("consistency_issues",)),
}
"""Members that a document may keep under more than one name or inside another; others are their own place."""


class Received(NamedTuple):
    """A member as the sender wrote it: the last name of its place, its JSON pointer, its value."""

    name: str
    pointer: str
    value: JSONValue


def received_all(payload: JSONObject, envelope: JSONObject, member: str) -> Iterator[Received]:
    """Every place where the sender gave a logical member, best first. Null values are given values.

    `envelope` is {} in the flat form. Pointers lead into the payload; those of envelope members into the envelope.
    """
    places = PLACES.get(member) or ((member,),)
    for place in places:
        holder = payload if len(place) == 1 else payload.get(place[0])
        if isinstance(holder, dict) and _is_given(holder, place, member):
            yield Received(place[-1], "/" + "/".join(place), holder[place[-1]])
    for place in places if envelope else ():
        if len(place) == 1 and _is_given(envelope, place, member):
            yield Received(place[0], f"/{place[0]}", envelope[place[0]])


def _is_given(holder: JSONObject, place: Place, member: str) -> bool:
    """A status that is an object is not the status but holds it."""
    name = place[-1]
    return name in holder and not (
        member == "task_status" and len(place) == 1 and isinstance(holder[name], dict)
    )


def received(payload: JSONObject, envelope: JSONObject, member: str) -> Received | None:
    """The best place of a logical member: the first that is not null, else the first; None if it was not given."""
    first: Received | None = None
    for found in received_all(payload, envelope, member):
        if found.value is not None:
            return found
        first = first or found
    return first


def value_of(payload: JSONObject, envelope: JSONObject, member: str) -> JSONValue:
    """The value that `received` finds, without its place; None where there is none. The hot path of admission."""
    places = PLACES.get(member) or ((member,),)
    for place in places:
        holder = payload if len(place) == 1 else payload.get(place[0])
        value = holder.get(place[-1]) if type(holder) is dict else None
        if value is not None and not (type(value) is dict and member == "task_status"):
            return value
    for place in places if envelope else ():
        value = envelope.get(place[0]) if len(place) == 1 else None
        if value is not None and not (type(value) is dict and member == "task_status"):
            return value
    return None


def folded_status(value: JSONValue) -> str | None:
    """A task status in the words of HC-04; an unknown one as received, what is no text as None."""
    if not isinstance(value, str) or not value:
        return None
    folded = fold(value)
    return folded if folded in STATUSES else value


def covered_object(payload: JSONObject, envelope: JSONObject) -> JSONObject | None:
    """The object that `consistency_hash` covers (contract §2.7), or None where a member of it was not given.

    `checkpoint_id` may come from the envelope and is left out where the sender gave none.
    """
    covered: JSONObject = {}
    identity = received(payload, envelope, "checkpoint_id")
    if identity is not None and identity.value is not None:
        covered["checkpoint_id"] = identity.value
    for member in ("task_id", "task_status", "completed_steps", "pending_decisions"):
        found = received(payload, {}, member)
        if found is None:
            return None
        covered[member] = found.value
    return covered


def hash_of(covered: JSONObject) -> str:
    """`consistency_hash` of a covered object."""
    return consistency_hash(
        checkpoint_id=covered.get("checkpoint_id"),
        task_id=covered["task_id"],
        task_status=covered["task_status"],
        completed_steps=covered["completed_steps"],
        pending_decisions=covered["pending_decisions"],
    )
