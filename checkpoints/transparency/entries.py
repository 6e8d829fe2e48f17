"""The digest of an audit entry and the commitment to its text (contract §9), for writers and for verifiers."""

from __future__ import annotations

import hashlib
from datetime import datetime
from uuid import UUID

from checkpoints.canonical import canonicalize
from checkpoints.types import JSONObject, JSONValue, rfc3339


def commit_text(*, salt: bytes, label: str, reason: str | None, before: JSONValue, after: JSONValue) -> str:
    """The salted commitment to the erasable text, as "sha256:…"."""
    text = canonicalize({"after": after, "before": before, "label": label, "reason": reason})
    return "sha256:" + hashlib.sha256(salt + text).hexdigest()


def entry_digest(members: JSONObject) -> str:
    """The digest over the canonical object of exactly the members that contract §9 names."""
    return "sha256:" + hashlib.sha256(canonicalize(members)).hexdigest()


def digest_members(
    *,
    entry_id: UUID,
    at: datetime,
    action: str,
    actor: tuple[str, str],
    subject: tuple[str, str],
    request_id: str | None,
    trace_id: str | None,
    policy_version: int | None,
    previous_digest: str | None,
    text_commitment: str,
) -> JSONObject:
    return {
        "id": str(entry_id),
        "at": rfc3339(at),
        "action": action,
        "actor": {"kind": actor[0], "id": actor[1]},
        "subject": {"kind": subject[0], "id": subject[1]},
        "request_id": request_id,
        "trace_id": trace_id,
        "policy_version": policy_version,
        "previous_digest": previous_digest,
        "text_commitment": text_commitment,
    }
