"""The two hashes a sender gives, and which mistake of serialisation a wrong one betrays (HC-13)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Final

from checkpoints.canonical.jcs import canonicalize, digest
from checkpoints.types import JSONObject, JSONValue

_CLAIMED: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE | re.ASCII)
_DUMPS: Final[dict[str, tuple[bool, bool]]] = {  # name -> (sorted, compact)
    "json.dumps": (False, False),
    "json.dumps-compact": (False, True),
    "json.dumps-sorted": (True, False),
    "json.dumps-sorted-compact": (True, True),
}


def consistency_hash(
    *,
    checkpoint_id: JSONValue,
    task_id: JSONValue,
    task_status: JSONValue,
    completed_steps: JSONValue,
    pending_decisions: JSONValue,
) -> str:
    """`sha256:…` over the canonical covered object; without a `checkpoint_id` it has four members."""
    covered: JSONObject = {
        "task_id": task_id,
        "task_status": task_status,
        "completed_steps": completed_steps,
        "pending_decisions": pending_decisions,
    }
    if checkpoint_id is not None:
        covered["checkpoint_id"] = checkpoint_id
    return digest(covered)


def context_fingerprint(context_snapshot: JSONValue) -> str:
    """`sha256:…` over the canonical `context_snapshot`."""
    return digest(context_snapshot)


def engine_fingerprint(messages: JSONValue, context_state: JSONValue) -> str:
    """The fingerprint of an EngineCheckpoint: over its conversation and its provider state."""
    return digest({"messages": messages, "contextState": context_state})


def normalize_claimed(text: str) -> str | None:
    """`sha256:` + lower case of what a sender wrote; None where it is no SHA-256 in hex."""
    found = _CLAIMED.fullmatch(text)
    return f"sha256:{found[1].lower()}" if found else None


def matching_serialisation(
    covered: JSONValue, whole_document: JSONValue, body: bytes | None, claimed: str
) -> str:
    """Which serialisation the claimed hash was taken over.

    One of `rfc8785`, `json.dumps`, `json.dumps-compact`, `json.dumps-sorted`, `json.dumps-sorted-compact` (of the
    covered value, with or without `\\u` escapes), `as-received` (the body's bytes), `whole-document` (the document
    in any of these, with or without the hashes that cannot cover themselves) and `none`.
    """
    wanted = normalize_claimed(claimed)
    if wanted is None:
        return "none"
    wanted = wanted.removeprefix("sha256:")
    for name, data in _serialisations(covered):
        if hashlib.sha256(data).hexdigest() == wanted:
            return name
    if body is not None and any(
        hashlib.sha256(data).hexdigest() == wanted for data in (body, body.strip(b" \t\r\n"))
    ):
        return "as-received"
    for variant in _without_own_hashes(whole_document):
        if any(hashlib.sha256(data).hexdigest() == wanted for _, data in _serialisations(variant)):
            return "whole-document"
    return "none"


def _serialisations(value: JSONValue) -> Iterator[tuple[str, bytes]]:
    yield "rfc8785", canonicalize(value)
    for name, (sort_keys, compact) in _DUMPS.items():
        for ascii_only in (True, False):
            text = json.dumps(
                value,
                sort_keys=sort_keys,
                separators=(",", ":") if compact else None,
                ensure_ascii=ascii_only,
            )
            yield name, text.encode()


def _without_own_hashes(document: JSONValue) -> Iterator[JSONValue]:
    yield document
    if isinstance(document, dict):
        for own in (("consistency_hash",), ("consistency_hash", "context_fingerprint")):
            if own[0] in document:
                yield {name: value for name, value in document.items() if name not in own}
