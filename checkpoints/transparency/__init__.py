"""The tree over the audit trail (RFC 9162) and its signed heads (C2SP signed notes). No framework, no database."""

from checkpoints.transparency.bundles import Judgement, judge
from checkpoints.transparency.entries import commit_text, digest_members, entry_digest
from checkpoints.transparency.heads import Head, HeadKey, SignedHead, Verifier, read_heads, read_verifier
from checkpoints.transparency.proofs import NotProven, verify_consistency, verify_inclusion
from checkpoints.transparency.tree import EMPTY_ROOT, TILE, Frontier, Tree, leaf_hash, new_tiles, node_hash

__all__ = [
    "EMPTY_ROOT",
    "TILE",
    "Frontier",
    "Head",
    "HeadKey",
    "Judgement",
    "NotProven",
    "SignedHead",
    "Tree",
    "Verifier",
    "commit_text",
    "digest_members",
    "entry_digest",
    "judge",
    "leaf_hash",
    "new_tiles",
    "node_hash",
    "read_heads",
    "read_verifier",
    "verify_consistency",
    "verify_inclusion",
]
