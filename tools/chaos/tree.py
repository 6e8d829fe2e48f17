"""The sealed tree, computed anew from the stored entries (RFC 9162, C2SP signed notes)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from tools.chaos.records import History, Violation


def sealed(history: History) -> Iterator[Violation]:
    """Each entry has one place, places are dense, and each head inside and outside speaks of just these entries."""
    entries = {row["id"]: row["digest"] for row in history.rows["audit"]}
    leaves = history.rows["leaf"]
    if [row["leaf_index"] for row in leaves] != list(range(len(leaves))):
        yield Violation("gap", "the places in the tree are not dense from 0")
    places = [row["entry_id"] for row in leaves]
    if len(set(places)) < len(places):
        yield Violation("double", "an entry has two places in the tree")
    for entry_id in sorted(entries.keys() - set(places), key=str):
        yield Violation("gap", "an entry was never sealed", {"entry": str(entry_id)})
    for row in leaves:
        if row["entry_id"] not in entries or bytes(row["leaf_hash"]) != _leaf(entries[row["entry_id"]]):
            ids = {"entry": str(row["entry_id"]), "index": row["leaf_index"]}
            yield Violation("audit chain", "a leaf is not the hash of its entry", ids)
    yield from _heads(history, [bytes(row["leaf_hash"]) for row in leaves])


def _heads(history: History, leaves: list[bytes]) -> Iterator[Violation]:
    heads = history.rows["head"]
    if leaves and (not heads or heads[-1]["size"] != len(leaves)):
        yield Violation("audit chain", f"no head speaks of all {len(leaves)} leaves")
    notes = [row["note"] for row in heads]
    outside = [f"{note}\n" for note in _notes(history.heads)]
    roots = roots_of(leaves)
    key = Ed25519PublicKey.from_public_bytes(history.sealer_key)
    for where, note in [*(("stored", note) for note in notes), *(("published", note) for note in outside)]:
        if problem := _head_fault(note, roots, key):
            yield Violation("audit chain", f"a {where} head: {problem}", {"head": note.split("\n")[1]})
    for row in heads:
        if _said(row["note"]) != (row["size"], bytes(row["root"])):
            yield Violation("audit chain", "a stored head is not what its note says", {"head": row["size"]})


def _head_fault(note: str, roots: list[bytes], key: Ed25519PublicKey) -> str | None:
    size, root = _said(note)
    if size > len(roots):
        return f"it speaks of {size} entries, and {len(roots)} are sealed"
    if roots[size - 1] != root:
        return f"its root is not that of the first {size} entries"
    text, _, signature = note.partition("\n\n")
    try:
        key.verify(base64.b64decode(signature.split()[-1])[4:], f"{text}\n".encode())
    except InvalidSignature:
        return "its signature does not verify"
    return None


def _said(note: str) -> tuple[int, bytes]:
    _, size, root, *_ = note.split("\n")
    return int(size), base64.b64decode(root)


def _notes(text: str) -> list[str]:
    """The whole notes of a file; one that a death cut short is none."""
    parts = text.split("\n\n")
    # origin, size and root; an empty line; the signature; an empty line
    return [f"{parts[at]}\n\n{parts[at + 1]}" for at in range(0, len(parts) - 2, 2)]


def roots_of(leaves: list[bytes]) -> list[bytes]:
    """The root after each leaf: complete subtrees are folded as they fill, what is left from the right."""
    full: list[tuple[int, bytes]] = []  # (leaves, hash), the largest first
    roots = []
    for leaf in leaves:
        full.append((1, leaf))
        while len(full) > 1 and full[-1][0] == full[-2][0]:
            (count, right), (_, left) = full.pop(), full.pop()
            full.append((2 * count, _node(left, right)))
        root = full[-1][1]
        for _, left in reversed(full[:-1]):
            root = _node(left, root)
        roots.append(root)
    return roots


def _leaf(digest: str) -> bytes:
    return hashlib.sha256(b"\x00" + bytes.fromhex(digest.removeprefix("sha256:"))).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()
