"""What the sender's two hashes should have been, and what a wrong one was taken over."""

from __future__ import annotations

from checkpoints.canonical import digest, matching_serialisation, member_slice
from checkpoints.formats.admission import detect, is_envelope, split
from checkpoints.formats.vocabulary import covered_object, hash_of
from checkpoints.types import JSONObject, JSONValue, Submission


def expected_hash(submission: Submission) -> str | None:
    """The `consistency_hash` of a `handoff/1` document; None where a covered member was not given."""
    if submission.format != "handoff/1":
        return None
    covered = covered_object(submission.payload, submission.envelope)
    return None if covered is None else hash_of(covered)


def expected_fingerprint(submission: Submission) -> str | None:
    """The `context_fingerprint`; None where the document holds no context to take it over."""
    context = _context(submission.format, submission.payload)
    return None if context is None else digest(context)


def covered_values(value: JSONValue) -> tuple[JSONObject | None, JSONValue]:
    """What `consistency_hash` and `context_fingerprint` cover in any JSON value; None where one does not apply."""
    if not isinstance(value, dict):
        return None, None
    payload, envelope = split(value)
    name = detect(payload, envelope)
    covered = covered_object(payload, envelope) if name == "handoff/1" else None
    return covered, _context(name, payload)


def explain_claim(value: JSONValue, body: bytes, claimed: str) -> str:
    """What a claimed hash was taken over: a name of `matching_serialisation`, for a checkpoint or any JSON value.

    `body` are the bytes of `value`; the exact bytes of its context count as received, too.
    """
    covered, context = covered_values(value)
    attempts: list[tuple[JSONValue, JSONValue, bytes]] = [
        (part, value, body) for part in (covered, context) if part is not None
    ]
    if not attempts:
        attempts = [(value, value, body)]
    if isinstance(value, dict) and is_envelope(value):
        payload_bytes = member_slice(body, "payload")
        attempts += [(part, value["payload"], payload_bytes or body) for part, _, _ in attempts]
    if context is not None:
        attempts.append((context, value, _context_bytes(body) or body))
    found = (matching_serialisation(part, whole, received, claimed) for part, whole, received in attempts)
    return next((name for name in found if name != "none"), "none")


def _context(name: JSONValue, payload: JSONObject) -> JSONValue:
    if name == "handoff/1":
        return payload.get("context_snapshot")
    if name == "prompty.engine/1" and "messages" in payload and "contextState" in payload:
        return {"messages": payload["messages"], "contextState": payload["contextState"]}
    return None


def _context_bytes(body: bytes) -> bytes | None:
    payload = member_slice(body, "payload")
    holder = payload if payload is not None and payload.startswith(b"{") else body
    return member_slice(holder, "context_snapshot")
