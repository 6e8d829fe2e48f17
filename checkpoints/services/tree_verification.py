"""Recomputing the tree over the audit trail from the entries, and holding it to the heads that were signed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connection

from checkpoints.models import TreeHead
from checkpoints.transparency import Frontier, SignedHead, leaf_hash, read_heads, read_verifier

PAGE = 10_000
MOST_NAMED = 20
LEAVES = """
    SELECT leaf.leaf_index, leaf.leaf_hash, entry.id::text, entry.digest
    FROM audit_leaf leaf LEFT JOIN audit_entry entry ON entry.id = leaf.entry_id
    WHERE leaf.leaf_index > %s ORDER BY leaf.leaf_index LIMIT %s
"""
# Entries that a head says were all seen, and that have no place.
SKIPPED = """
    SELECT entry.id::text FROM audit_entry entry
    WHERE entry.xid < %s AND NOT EXISTS (SELECT FROM audit_leaf leaf WHERE leaf.entry_id = entry.id) LIMIT %s
"""


@dataclass
class TreeFindings:
    """What a walk over the tree has seen. `problems`: the first, each one sentence."""

    leaves: int = 0
    heads: int = 0  # of the database
    outside: int = 0  # given from outside of it
    problems: list[str] = field(default_factory=list)

    def note(self, problem: str) -> None:
        if len(self.problems) < MOST_NAMED:
            self.problems.append(problem)


def verify(*, outside: Sequence[SignedHead] = (), key: str | None = None) -> TreeFindings:
    """Recompute leaves and roots; judge the database's heads and those kept outside.

    `key` is the verifier key the caller trusts; without it the database's own word counts, which shows accidents
    and the changes of somebody without the sealer's key, not those of somebody who signs anew.
    """
    found = TreeFindings(outside=len(outside))
    stored = list(TreeHead.objects.order_by("size"))
    found.heads = len(stored)
    wanted = {head.size for head in stored} | {signed.head.size for signed in outside}
    roots = _roots(found, wanted)
    for head in stored:
        _judge_stored(found, head, roots, key)
    for signed in outside:
        _judge_outside(found, signed, roots, key or (stored[-1].verifier_key if stored else None))
    if stored and found.leaves > stored[-1].size:
        found.note(
            f"{found.leaves - stored[-1].size} leaves stand behind the last head, size {stored[-1].size}"
        )
    if stored:
        _look_for_skipped(found, stored[-1].horizon)
    return found


def _roots(found: TreeFindings, wanted: set[int]) -> dict[int, bytes]:
    """The roots at the wanted sizes, from the digests of the entries."""
    frontier, roots = Frontier(), {}
    for index, stored, entry, digest in _leaves():
        if index != found.leaves:
            found.note(f"leaf {found.leaves} is missing")
            found.leaves = index
        if digest is None:
            found.note(f"the entry of leaf {index} is missing")
        elif leaf_hash(digest) != stored:
            found.note(f"entry {entry} was changed after it was sealed: leaf {index} has the hash of another")
        frontier.append(leaf_hash(digest) if digest else stored)
        found.leaves += 1
        if found.leaves in wanted:
            roots[found.leaves] = frontier.root()
    return roots


def _leaves() -> Iterator[tuple[int, bytes, str | None, str | None]]:
    after = -1
    while True:
        with connection.cursor() as cursor:
            cursor.execute(LEAVES, [after, PAGE])
            rows = cursor.fetchall()
        if not rows:
            return
        for index, stored, entry, digest in rows:
            yield index, bytes(stored), entry, digest
        after = rows[-1][0]


def _judge_stored(found: TreeFindings, head: TreeHead, roots: dict[int, bytes], key: str | None) -> None:
    try:
        [signed] = read_heads(head.note)
        read_verifier(key or head.verifier_key).check(signed)
    except ValueError as error:
        found.note(f"the database's head of size {head.size}: {error}")
        return
    if (signed.head.size, signed.head.root) != (head.size, bytes(head.root)):
        found.note(f"the database's head of size {head.size} differs from what was signed")
    _compare(found, signed, roots, "the database's head")


def _judge_outside(found: TreeFindings, signed: SignedHead, roots: dict[int, bytes], key: str | None) -> None:
    size = signed.head.size
    if key is None:
        found.note(f"the head of size {size} from outside: the database knows no head at all")
        return
    try:
        read_verifier(key).check(signed)
    except ValueError as error:
        found.note(f"a head from outside: {error}")
        return
    if size > found.leaves:
        found.note(
            f"the trail shrank: a head of size {size} was signed, and {found.leaves} leaves are there. "
            "Was an older backup restored?"
        )
        return
    _compare(found, signed, roots, "the head from outside")


def _compare(found: TreeFindings, signed: SignedHead, roots: dict[int, bytes], whose: str) -> None:
    if roots.get(signed.head.size) != signed.head.root:
        found.note(f"{whose} of size {signed.head.size} does not match: entries before it were changed")


def _look_for_skipped(found: TreeFindings, horizon: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(SKIPPED, [horizon, MOST_NAMED])
        for (entry,) in cursor.fetchall():
            found.note(f"entry {entry} has no place in the tree though a head covers its time")
