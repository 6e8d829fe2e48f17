"""Proofs that an audit entry is under a signed head, and that one head grew out of another."""

from __future__ import annotations

from dataclasses import dataclass

from checkpoints.errors import InvalidInput
from checkpoints.models import AuditEntry, AuditLeaf, TreeHead
from checkpoints.services import sealing
from checkpoints.types import JSONObject, JSONValue, rfc3339


@dataclass(frozen=True, slots=True)
class Proof:
    """`path` leads from the entry's leaf to the root of `head` (RFC 9162 §2.1.3)."""

    leaf: AuditLeaf
    head: TreeHead
    path: list[bytes]


def prove(*, entry: AuditEntry, size: int | None = None) -> Proof | None:
    """The proof under the newest head, or under the one of `size`. None while the entry is not sealed.

    Raises InvalidInput where there is no head of this size, or the entry came after it.
    """
    leaf = AuditLeaf.objects.filter(entry=entry).first()
    head = sealing.newest() if size is None else head_of(size=size)
    if leaf is None or head is None:
        return None
    if leaf.leaf_index >= head.size:
        raise InvalidInput(
            f"This entry is leaf {leaf.leaf_index}: it came after the head of size {head.size}. "
            "Leave size out to get the proof under the newest head.",
            slug="invalid-parameter",
            status=400,
        )
    return Proof(leaf, head, sealing.tree(head.size).inclusion(leaf.leaf_index))


def head_of(*, size: int) -> TreeHead:
    """The head of this size. Raises InvalidInput where none was signed."""
    head = TreeHead.objects.filter(size=size).first()
    if head is None:
        raise InvalidInput(
            f"No head of size {size} was signed. Heads and their sizes: GET /api/v1/audit/heads.",
            slug="invalid-parameter",
            status=400,
        )
    return head


def grown(*, earlier: int, head: TreeHead) -> list[bytes] | None:
    """The proof that `head` grew out of the tree of `earlier` leaves; None for heads before it."""
    return sealing.tree(head.size).consistency(earlier) if 0 < earlier <= head.size else None


def head_json(head: TreeHead) -> JSONObject:
    """A head as the API and bundles show it."""
    return {
        "size": head.size,
        "root": hash_text(head.root),
        "at": rfc3339(head.at),
        "note": head.note,
        "verifier_key": head.verifier_key,
    }


def path_json(path: list[bytes] | None) -> JSONValue:
    return None if path is None else [hash_text(step) for step in path]


def hash_text(value: bytes | memoryview) -> str:
    return "sha256:" + bytes(value).hex()
