"""`consistency_hash`: whether the covered members are the ones that were hashed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from checkpoints.canonical import digest, matching_serialisation, normalize_claimed
from checkpoints.checks.shape import shown, view
from checkpoints.formats import covered_object
from checkpoints.types import CheckContext, Hit, JSONObject, Submission

FORMATS = ("handoff/1",)

_HELP: Final = "Have the orchestrator compute it: POST /api/v1/digests."


def _sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


# What models and forgotten code send instead of a hash.
DUMMIES: Final = {
    f"sha256:{'0' * 64}": "64 zeros",
    f"sha256:{'f' * 64}": "64 times f",
    f"sha256:{'1' * 64}": "64 ones",
    f"sha256:{'a' * 64}": "64 times a",
    f"sha256:{'0123456789abcdef' * 4}": "the hex digits in order",
    f"sha256:{'1234567890abcdef' * 4}": "the hex digits in order",
    f"sha256:{'deadbeef' * 8}": "deadbeef",
    _sha256(b""): "the SHA-256 of nothing",
    _sha256(b"{}"): "the SHA-256 of {}",
    _sha256(b"[]"): "the SHA-256 of []",
    _sha256(b"null"): "the SHA-256 of null",
    _sha256(b'""'): "the SHA-256 of an empty string",
}


def hash_differs(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-11, HC-12, HC-13, HC-14 and HC-17."""
    document = view(submission)
    found = document.given("consistency_hash")
    covered = covered_object(submission.payload, submission.envelope)
    text = document.text("consistency_hash")
    if found is None or text is None:
        return
    expected = None if covered is None else digest(covered)
    claimed = normalize_claimed(text.strip())
    if claimed is None:
        yield Hit(
            "HC-12",
            found.pointer,
            f"consistency_hash {shown(text, 80)} is not a SHA-256: 64 hex digits, sha256: before them or "
            f"not. {_HELP}",
            expected,
            shown(text),
        )
        return
    if covered is None or claimed == expected:
        return
    yield _mismatch(submission, found.pointer, covered, claimed, expected)
    yield from _stale(submission, context, found.pointer, covered, claimed)


def _mismatch(
    submission: Submission, pointer: str, covered: JSONObject, claimed: str, expected: str | None
) -> Hit:
    dummy = DUMMIES.get(claimed)
    if dummy is not None:
        message = f"consistency_hash is {dummy}: a placeholder, no hash of this document. Models cannot hash."
        return Hit("HC-14", pointer, f"{message} {_HELP}", expected, claimed)
    serialisation = _serialisation(submission, covered, claimed)
    if serialisation is not None:
        return Hit(
            "HC-13",
            pointer,
            f"consistency_hash matches {serialisation}, not the canonical form (RFC 8785) of the five "
            f"covered members. The data is intact, the serialiser is not ours. {_HELP}",
            expected,
            claimed,
        )
    names = ", ".join(covered)
    return Hit(
        "HC-11",
        pointer,
        f"consistency_hash {claimed[:19]}… does not cover {names} as they stand here: they were changed "
        f"after hashing, or the hash was invented. {_HELP}",
        expected,
        claimed,
    )


def _serialisation(submission: Submission, covered: JSONObject, claimed: str) -> str | None:
    """Which other serialiser the sender used; its members may stand in our order or in the document's."""
    as_sent: JSONObject = {name: covered[name] for name in submission.payload if name in covered}
    as_sent |= {name: value for name, value in covered.items() if name not in as_sent}
    for candidate in (covered, as_sent):
        name = matching_serialisation(candidate, submission.document, None, claimed)
        if name not in ("none", "rfc8785"):
            return name
    return None


def _stale(
    submission: Submission, context: CheckContext, pointer: str, covered: JSONObject, claimed: str
) -> Iterator[Hit]:
    previous = context.previous
    if previous is None or previous.facts.claimed_hash is None:
        return
    if normalize_claimed(previous.facts.claimed_hash.strip()) != claimed:
        return
    before = covered_object(previous.payload, previous.envelope) or {}
    changed = [name for name, value in covered.items() if before.get(name) != value]
    if changed:
        yield Hit(
            "HC-17",
            pointer,
            f"consistency_hash is that of checkpoint {previous.checkpoint_id or 'before'}, although "
            f"{', '.join(changed)} changed since. It was copied forward.",
            actual=claimed,
        )


CHECKS = (hash_differs,)
