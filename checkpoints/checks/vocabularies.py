"""One thing said twice, differently: under both vocabularies, or in envelope and payload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from checkpoints.canonical import normalize_claimed
from checkpoints.checks.shape import is_blank, place, same_word, shown, view
from checkpoints.formats import Received
from checkpoints.formats.reading import folded_risk, instant
from checkpoints.types import CheckContext, Hit, JSONValue, Submission

FORMATS = ("handoff/1",)


def two_vocabularies(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-29 and HC-65: one document says the same thing twice, differently."""
    document = view(submission)
    for member in ("task_status", "task_id", "completed_steps", "in_progress_step"):
        places = document.in_payload(member)
        for other in places[1:]:
            if not _same_status(places[0].value, other.value):
                yield Hit(
                    "HC-29",
                    other.pointer,
                    f"{place(places[0].pointer)} is {shown(places[0].value, 80)}, but "
                    f"{place(other.pointer)} is {shown(other.value, 80)}. One of them is stale.",
                    _brief(places[0].value),
                    _brief(other.value),
                )
    agents = [found for found in document.in_payload("agent_id") if not is_blank(found.value)]
    if len(agents) == 2 and agents[0].value != agents[1].value:
        yield Hit(
            "HC-65",
            agents[1].pointer,
            f"agent_id is {shown(agents[0].value, 80)}, but agent_instance_id is "
            f"{shown(agents[1].value, 80)}. They name one agent: send the same, or only one.",
            _brief(agents[0].value),
            _brief(agents[1].value),
        )


def _same_status(first: JSONValue, second: JSONValue) -> bool:
    if isinstance(first, str) and isinstance(second, str):
        return same_word(first, second)
    return first == second


def _brief(value: JSONValue) -> JSONValue:
    return shown(value) if isinstance(value, str | list | dict) else value


def envelope_and_payload(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-76. Identity members that differ were refused at admission."""
    if submission.form != "envelope":
        return
    document = view(submission)
    for member, agrees in _COMPARED.items():
        for outer in document.in_envelope(member):
            for inner in document.in_payload(member)[:1]:
                if not agrees(outer.value, inner.value):
                    yield _differs(outer, inner)


def _differs(outer: Received, inner: Received) -> Hit:
    return Hit(
        "HC-76",
        inner.pointer,
        f"{outer.name} is {shown(outer.value, 80)} in the envelope, but {place(inner.pointer)} is "
        f"{shown(inner.value, 80)} in the payload. The reviewer would decide on one and the receiver act "
        "on the other.",
        _brief(outer.value),
        _brief(inner.value),
    )


def _equal(first: JSONValue, second: JSONValue) -> bool:
    return type(first) is type(second) and first == second


def _same_risk(first: JSONValue, second: JSONValue) -> bool:
    known = folded_risk(first)
    return first == second or (known is not None and known is folded_risk(second))


def _same_time(first: JSONValue, second: JSONValue) -> bool:
    known = instant(first)
    return first == second or (known is not None and known == instant(second))


def _same_digest(first: JSONValue, second: JSONValue) -> bool:
    if not isinstance(first, str) or not isinstance(second, str):
        return _equal(first, second)
    known = normalize_claimed(first.strip())
    return first == second or (known is not None and known == normalize_claimed(second.strip()))


_COMPARED: Final[Mapping[str, Callable[[JSONValue, JSONValue], bool]]] = {
    "agent_id": _equal,
    "agent_role": _equal,
    "target_role": _equal,
    "task_id": _equal,
    "handoff_reason": _equal,
    "risk_level": _same_risk,
    "human_approval_required": _equal,
    "approval_ticket_reference": _equal,
    "context_fingerprint": _same_digest,
    "context_reference": _equal,
    "idempotency_key": _equal,
    "max_retries": _equal,
    "produced_at": _same_time,
    "previous_checkpoint_id": _equal,
    "attempt": _equal,
    "reported_issues": _equal,
    "format": _equal,
}

CHECKS = (two_vocabularies, envelope_and_payload)
