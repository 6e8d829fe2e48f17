"""Claimed and computed hashes side by side, the groups that differ marked."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from checkpoints.canonical import canonicalize, matching_serialisation, normalize_claimed
from checkpoints.canonical.hashes import context_fingerprint, engine_fingerprint
from checkpoints.formats import covered_object, hash_of
from checkpoints.types import JSONValue, Submission

MOST_TRIED = 200_000  # bytes; each serialisation is written anew, twenty of them for a document
GROUP = 8
CANONICAL_MOST = 20_000  # characters of the hashed text that a page carries
SERIALISATIONS = {
    "json.dumps": "Python's json.dumps with its defaults",
    "json.dumps-compact": "Python's json.dumps without spaces",
    "json.dumps-sorted": "Python's json.dumps with sorted keys",
    "json.dumps-sorted-compact": "Python's json.dumps with sorted keys and without spaces",
    "as-received": "the bytes of the body as they were sent",
    "whole-document": "the whole document instead of the five members",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One hash: `claimed` and `computed` are lists of (group, differs)."""

    title: str
    covers: str
    claimed: list[tuple[str, bool]]
    computed: list[tuple[str, bool]]
    matches: bool
    was_claimed: bool
    hint: str
    tried: bool  # whether other serialisations were looked at; of large documents they are not
    canonical: str  # the text whose UTF-8 bytes were hashed
    size: int  # of all of it, in bytes


def comparisons(submission: Submission, body: bytes) -> list[Comparison]:
    """The hashes that this document carries or should carry; none for formats without them."""
    facts, payload = submission.facts, submission.payload
    found = []
    if submission.format == "handoff/1":
        covered = covered_object(payload, submission.envelope)
        if covered is not None:
            found.append(
                _compare(
                    submission,
                    body,
                    "Consistency hash",
                    "task, status, completed steps and pending decisions",
                    facts.claimed_hash,
                    hash_of(covered),
                    covered,
                )
            )
        if isinstance(payload.get("context_snapshot"), dict):
            snapshot = payload["context_snapshot"]
            found.append(
                _compare(
                    submission,
                    body,
                    "Context fingerprint",
                    "the context snapshot",
                    facts.claimed_fingerprint,
                    context_fingerprint(snapshot),
                    snapshot,
                )
            )
    elif submission.format == "prompty.engine/1" and facts.claimed_fingerprint:
        computed = engine_fingerprint(payload.get("messages"), payload.get("contextState"))
        covers = {"messages": payload.get("messages"), "contextState": payload.get("contextState")}
        found.append(
            _compare(
                submission,
                body,
                "Context fingerprint",
                "messages and context state",
                facts.claimed_fingerprint,
                computed,
                covers,
            )
        )
    return found


def _compare(
    submission: Submission,
    body: bytes,
    title: str,
    covers: str,
    claimed: str | None,
    computed: str,
    covered: JSONValue,
) -> Comparison:
    normal = normalize_claimed(claimed) if claimed else None
    left = (normal or claimed or "").removeprefix("sha256:")
    right = computed.removeprefix("sha256:")
    hint = ""
    tried = submission.body_size <= MOST_TRIED
    if claimed and normal != computed and tried:
        hint = SERIALISATIONS.get(matching_serialisation(covered, submission.document, body, claimed), "")
    canonical = canonicalize(covered)
    pairs = list(zip_longest(_groups(left[:80]), _groups(right), fillvalue=""))
    return Comparison(
        title=title,
        covers=covers,
        claimed=[(one, one != two) for one, two in pairs if one],
        computed=[(two, one != two and bool(left)) for one, two in pairs if two],
        matches=normal == computed,
        was_claimed=bool(claimed),
        hint=hint,
        tried=tried,
        canonical=canonical.decode()[:CANONICAL_MOST],
        size=len(canonical),
    )


def _groups(text: str) -> list[str]:
    return [text[start : start + GROUP] for start in range(0, len(text), GROUP)]
