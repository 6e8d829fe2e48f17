"""Is the audit trail whole, and does it tell a story that the contract allows?

Digests are recomputed from contract §9 with a JSON library that the product's writer does not use; the edges are those
of contract §4, written down once more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import rfc8785

from tools.chaos.records import History, Row, Violation

EDGES = {
    "received": {"rejected", "flagged", "cleared", "cancelled"},
    "rejected": {"flagged", "aborted", "cancelled"},
    "flagged": {"approved", "aborted", "escalated", "flagged", "cancelled"},
    "cleared": {"dispatched", "aborted", "cancelled"},
    "approved": {"dispatched", "flagged", "aborted", "cancelled"},
    "dispatched": {"acknowledged", "recoverable", "escalated", "flagged", "aborted", "cancelled"},
    "recoverable": {"dispatched", "acknowledged", "escalated", "aborted", "cancelled"},
    "escalated": {"approved", "aborted", "flagged", "escalated", "acknowledged", "cancelled"},
    "acknowledged": set(),
    "aborted": set(),
    "cancelled": set(),
}


def unbroken(history: History) -> Iterator[Violation]:
    """Every chain starts at 0, has no gap and no fork, links and digests fit, texts fit their commitments."""
    for subject, entries in history.chains.items():
        previous = None
        for place, entry in enumerate(entries):
            problem = _fault(entry, place, previous)
            if problem:
                ids = {
                    "subject": ":".join(subject),
                    "index": entry["subject_index"],
                    "entry": str(entry["id"]),
                }
                yield Violation("audit chain", problem, ids)
                break
            previous = entry["digest"]


def _fault(entry: Row, place: int, previous: str | None) -> str | None:
    if entry["subject_index"] != place:
        return f"index {entry['subject_index']} stands where {place} should"
    if entry["previous_digest"] != previous:
        return "previous_digest is not the digest of the entry before"
    if entry["digest"] != digest(entry):
        return "the digest does not fit the entry"
    if entry["salt"] is None:
        return "the text is gone, and nothing was to be erased"
    if entry["text_commitment"] != commitment(entry):
        return "the commitment does not fit the text"
    return None


def digest(entry: Row) -> str:
    """Contract §9, from the values as the API shows them."""
    return _sha256(
        rfc8785.dumps(
            {
                "id": str(entry["id"]),
                "at": _instant(entry["at"]),
                "action": entry["action"],
                "actor": {"kind": entry["actor_kind"], "id": entry["actor_id"]},
                "subject": {"kind": entry["subject_kind"], "id": entry["subject_id"]},
                "request_id": entry["request_id"],
                "trace_id": entry["trace_id"],
                "policy_version": entry["policy_version"],
                "previous_digest": entry["previous_digest"],
                "text_commitment": entry["text_commitment"],
            }
        )
    )


def commitment(entry: Row) -> str:
    """SHA-256 of the salt and the canonical text."""
    text = {name: entry[name] for name in ("after", "before", "label", "reason")}
    return _sha256(bytes(entry["salt"]) + rfc8785.dumps(text))


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def lawful(history: History) -> Iterator[Violation]:
    """A handoff's chain begins with its receipt, takes only edges of the contract, and ends where the row is."""
    known = {str(row["id"]): row for row in history.rows["handoff"]}
    for kind, subject in history.chains:
        if kind == "handoff" and subject not in known:
            yield Violation(
                "story", "an audit chain speaks of a handoff that is not stored", {"handoff": subject}
            )
    for handoff_id, handoff in known.items():
        entries = history.chains.get(("handoff", handoff_id), [])
        problem = _story_fault(history, handoff, entries)
        if problem:
            ids = {"handoff": handoff_id, "checkpoint_id": handoff["checkpoint_id"]}
            yield Violation("story", problem, ids)


def _story_fault(history: History, handoff: Row, entries: list[Row]) -> str | None:
    if not entries or entries[0]["action"] != "handoff.received":
        return "its chain does not begin with handoff.received"
    state = "received"
    for before, after, action in _steps(entries):
        if before != state:
            return f"{action} starts from {before}, but the handoff was {state}"
        if after not in EDGES[state]:
            return f"{action} goes from {state} to {after}, which contract §4 does not allow"
        state = after
    if state != handoff["state"]:
        return f"its chain ends in {state}, its row says {handoff['state']}"
    sent = sum(entry["action"] == "handoff.dispatched" for entry in entries)
    attempts = [row["number"] for row in history.by_handoff["attempt"].get(handoff["id"], [])]
    if attempts != list(range(1, sent + 1)) or handoff["last_attempt"] != sent:
        return f"{sent} dispatches in the chain, attempts {attempts}, last_attempt {handoff['last_attempt']}"
    return _dispatch_fault(handoff, entries)


def _steps(entries: list[Row]) -> Iterator[tuple[str, str, str]]:
    """(state before, state after, action) of the entries that move the handoff."""
    for entry in entries:
        before, after = entry["before"], entry["after"]
        if isinstance(before, dict) and isinstance(after, dict) and "state" in before and "state" in after:
            yield before["state"], after["state"], entry["action"]


def _dispatch_fault(handoff: Row, entries: list[Row]) -> str | None:
    """Nothing goes out that was not cleared or approved since it last waited; nor more often than retries allow."""
    licence: str | None = None
    sent = 0
    for _, after, action in _steps(entries):
        if action in ("handoff.cleared", "handoff.approved"):
            licence, sent = action, 0
        elif action == "handoff.refused":
            sent -= 1
        elif action == "handoff.dispatched":
            sent += 1
            if licence is None:
                return "it was dispatched without having been cleared or approved"
            if sent > handoff["max_retries"] + 1:
                return f"{sent} attempts in one round, with max_retries {handoff['max_retries']}"
        if after in ("flagged", "escalated"):
            licence = None
    return None


def events_of(history: History, checkpoint_id: str) -> list[Any]:
    """What clients and the trail say of one handoff, in a few words each, for the first counter-example."""
    handoff = history.by_checkpoint_id.get(checkpoint_id)
    told = [entry for entry in history.journal if entry.get("checkpoint_id") == checkpoint_id]
    lines: list[Any] = [{key: value for key, value in entry.items() if key != "ticket"} for entry in told]
    entries = history.chains.get(("handoff", str(handoff["id"])), []) if handoff else []
    return lines + [
        f"audit {item['subject_index']} {_instant(item['at'])} {item['action']}" for item in entries
    ]
