"""Judging an exported bundle of audit entries offline: digests, commitments, links, paths and the head's signature."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from checkpoints.canonical import canonicalize
from checkpoints.transparency.entries import commit_text
from checkpoints.transparency.heads import SignedHead, Verifier, read_heads
from checkpoints.transparency.proofs import NotProven, verify_inclusion
from checkpoints.transparency.tree import leaf_hash

FORMAT = "reviewqueue-audit/1"
MOST_NAMED = 20
SIGNED_MEMBERS = (
    "id",
    "at",
    "action",
    "request_id",
    "trace_id",
    "policy_version",
    "previous_digest",
    "text_commitment",
)


@dataclass
class Judgement:
    """What was seen in a bundle. `size`: leaves under its head, 0 without one. `problems`: the first 20."""

    entries: int = 0
    sealed: int = 0
    erased: int = 0
    size: int = 0
    problems: list[str] = field(default_factory=list)

    def note(self, problem: str) -> None:
        if len(self.problems) < MOST_NAMED:
            self.problems.append(problem)


def judge(lines: Iterable[str], *, verifier: Verifier, kept: Sequence[SignedHead] = ()) -> Judgement:
    """Judge the lines of a bundle with the key that the auditor trusts.

    `kept` are heads from elsewhere: one of the same size must have the same root. Raises ValueError for a text
    that is no bundle.
    """
    found = Judgement()
    iterator = iter(lines)
    first = _object(next(iterator, ""), 1)
    if first.get("bundle") != FORMAT:
        raise ValueError(f"line 1 does not say that this is a {FORMAT} bundle")
    head = _head(found, first.get("head"), verifier)
    for signed in kept:
        _compare(found, signed, head, verifier)
    last: dict[tuple[str, str], str] = {}
    for number, line in enumerate(iterator, start=2):
        if line.strip():
            _judge_line(found, _object(line, number), head, last)
    return found


def _head(found: Judgement, head: Any, verifier: Verifier) -> SignedHead | None:
    if head is None:
        found.note("the bundle has no head: nothing was sealed when it was made")
        return None
    if not isinstance(head, dict) or not isinstance(head.get("note"), str):
        raise ValueError("line 1 holds no head")
    [signed] = read_heads(head["note"])
    try:
        verifier.check(signed)
    except ValueError as error:
        found.note(str(error))
        return None
    found.size = signed.head.size
    return signed


def _compare(found: Judgement, kept: SignedHead, head: SignedHead | None, verifier: Verifier) -> None:
    try:
        verifier.check(kept)
    except ValueError as error:
        found.note(f"a head that you kept: {error}")
        return
    if head is not None and kept.head.size == head.head.size and kept.head.root != head.head.root:
        found.note(
            f"two heads of size {kept.head.size} with different roots were signed: the trail was rewritten"
        )
    if head is not None and kept.head.size > head.head.size:
        found.note(
            f"you keep a head of size {kept.head.size}; the bundle's is older, of size {head.head.size}"
        )


def _judge_line(
    found: Judgement, line: dict[str, Any], head: SignedHead | None, last: dict[tuple[str, str], str]
) -> None:
    entry, path = line.get("entry"), line.get("path")
    if not isinstance(entry, dict):
        raise ValueError(f"entry {found.entries + 1} is no object")
    found.entries += 1
    name = f"entry {entry.get('id')}"
    try:
        digest = _digest(entry)
        if digest != entry.get("digest"):
            found.note(f"{name}: its digest does not match: a member was changed")
        _judge_text(found, entry, name)
        subject = (str(entry["subject"]["kind"]), str(entry["subject"]["id"]))
        if subject in last and entry.get("previous_digest") != last[subject]:
            found.note(f"{name}: it does not follow the entry before it of {':'.join(subject)}")
        last[subject] = str(entry.get("digest"))
        if path is not None and head is not None:
            _judge_path(found, entry, digest, path, head, name)
    except (KeyError, TypeError, ValueError) as error:
        found.note(f"{name}: it is no audit entry ({error!r})")


def _digest(entry: dict[str, Any]) -> str:
    datetime.fromisoformat(entry["at"])
    members = {member: entry[member] for member in SIGNED_MEMBERS}
    members["actor"] = {"kind": entry["actor"]["kind"], "id": entry["actor"]["id"]}
    members["subject"] = {"kind": entry["subject"]["kind"], "id": entry["subject"]["id"]}
    return "sha256:" + hashlib.sha256(canonicalize(members)).hexdigest()


def _judge_text(found: Judgement, entry: dict[str, Any], name: str) -> None:
    if entry["salt"] is None:
        found.erased += 1
        return
    commitment = commit_text(
        salt=bytes.fromhex(entry["salt"]),
        label=entry["actor"]["label"],
        reason=entry["reason"],
        before=entry["before"],
        after=entry["after"],
    )
    if commitment != entry["text_commitment"]:
        found.note(f"{name}: label, reason, before or after was changed")


def _judge_path(
    found: Judgement, entry: dict[str, Any], digest: str, path: list[str], head: SignedHead, name: str
) -> None:
    try:
        verify_inclusion(
            leaf=leaf_hash(digest),
            index=int(entry["leaf_index"]),
            size=head.head.size,
            path=[bytes.fromhex(step.removeprefix("sha256:")) for step in path],
            root=head.head.root,
        )
    except NotProven as error:
        found.note(f"{name}: it is not under the head: {error}")
        return
    found.sealed += 1


def _object(line: str, number: int) -> dict[str, Any]:
    value = json.loads(line)
    if not isinstance(value, dict):
        raise ValueError(f"line {number} is no object")
    return value
