"""Giving audit entries their places in the tree and signing what it has become (RFC 9162, contract §9).

The horizon: every entry bears the number of its transaction. Those below the oldest transaction that still runs
are complete: nothing can be committed below it any more, so a cursor there skips nobody who commits late.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from checkpoints.faults import fault
from checkpoints.models import TreeHead
from checkpoints.transparency import TILE, HeadKey, Tree, leaf_hash, new_tiles

MOST = 10_000  # entries in one transaction

# The lock is taken before the transaction: its snapshot must see what the last holder wrote.
LOCK = "SELECT pg_try_advisory_lock(hashtextextended('audit-sealer', 0))"
UNLOCK = "SELECT pg_advisory_unlock(hashtextextended('audit-sealer', 0))"
HORIZON = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
# The join is needed at the lower edge only, where a full batch ended in the middle of a transaction.
UNSEALED = """
    SELECT entry.id, entry.digest, entry.xid FROM audit_entry entry
    WHERE entry.xid >= %s AND entry.xid < %s
        AND NOT EXISTS (SELECT FROM audit_leaf leaf WHERE leaf.entry_id = entry.id)
    ORDER BY entry.xid, entry.id LIMIT %s
"""
# After a restore into another cluster numbers start anew: then every entry without a place counts, whatever its number.
LEFT_OVER = """
    SELECT entry.id, entry.digest, %s FROM audit_entry entry
    WHERE NOT EXISTS (SELECT FROM audit_leaf leaf WHERE leaf.entry_id = entry.id)
    ORDER BY entry.at, entry.id LIMIT %s
"""
# Entries of the last head's horizon or later: few, while a sealer runs.
WAITING = """
    SELECT extract(epoch FROM clock_timestamp() - min(entry.at)) FROM audit_entry entry
    WHERE entry.xid >= coalesce((SELECT horizon FROM tree_head ORDER BY size DESC LIMIT 1), 0)
        AND NOT EXISTS (SELECT FROM audit_leaf leaf WHERE leaf.entry_id = entry.id)
"""
INSERT_LEAVES = """
    INSERT INTO audit_leaf (leaf_index, entry_id, leaf_hash)
    SELECT * FROM unnest(%s::bigint[], %s::uuid[], %s::bytea[])
"""
INSERT_TILE = "INSERT INTO audit_tile (level, position, hash) VALUES (%s, %s, %s)"
INSERT_HEAD = """
    INSERT INTO tree_head (size, root, at, horizon, note, verifier_key)
    VALUES (%s, %s, clock_timestamp(), %s, %s, %s)
"""
READ_LEAVES = (
    "SELECT leaf_hash FROM audit_leaf WHERE leaf_index >= %s AND leaf_index < %s ORDER BY leaf_index"
)
READ_TILES = """
    SELECT hash FROM audit_tile WHERE level = %s AND position >= %s AND position < %s ORDER BY position
"""


class TreeIsDamaged(Exception):
    """Leaves or tiles that heads speak of are missing. The text says which; `verify_audit` says the rest."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """What one run did: entries that got a place, size of the tree, and whether more may wait."""

    entries: int
    size: int
    more: bool


def seal(*, key: HeadKey) -> Sealed | None:
    """Give places to all complete entries, at most MOST, and sign the new head. None: another sealer is at work."""
    with _alone() as alone:
        if not alone:
            return None
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            # Horizon and rows from one snapshot.
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            result = _seal(cursor, key)
            fault("seal.before_commit")
        fault("seal.after_commit")
    return result


def newest() -> TreeHead | None:
    """The last head, or None while nothing was sealed."""
    return TreeHead.objects.order_by("-size").first()


def unsealed_seconds() -> float:
    """Age of the oldest entry without a place, 0 where all have one. More than a few seconds: no sealer runs."""
    with connection.cursor() as cursor:
        cursor.execute(WAITING, [])
        (seconds,) = cursor.fetchone()
    return float(seconds or 0)


def tree(size: int) -> Tree:
    """The tree as it was at `size`, read from the database when asked."""
    return Tree(size, _read)


@contextmanager
def _alone() -> Iterator[bool]:
    with connection.cursor() as cursor:
        cursor.execute(LOCK)
        (alone,) = cursor.fetchone()
        try:
            yield alone
        finally:
            # A lost connection has lost the lock as well.
            if alone and connection.connection is not None and not connection.connection.closed:
                cursor.execute(UNLOCK)


def _seal(cursor: CursorWrapper, key: HeadKey) -> Sealed:
    last = newest()
    size, horizon = (last.size, last.horizon) if last else (0, 0)
    cursor.execute(HORIZON)
    (upper,) = cursor.fetchone()
    if upper < horizon:
        cursor.execute(LEFT_OVER, [horizon, MOST])  # until the last of them has its place
    else:
        cursor.execute(UNSEALED, [horizon, upper, MOST])
    rows: list[Any] = cursor.fetchall()
    if not rows:
        return Sealed(0, size, more=False)
    cursor.execute(
        INSERT_LEAVES,
        [
            list(range(size, size + len(rows))),
            [row[0] for row in rows],
            [leaf_hash(row[1]) for row in rows],
        ],
    )
    grown = size + len(rows)
    for level, position, digest in new_tiles(size, grown, _read):
        cursor.execute(INSERT_TILE, [level, position, digest])
    full = len(rows) == MOST
    root = tree(grown).root()
    signed = key.sign(size=grown, root=root)
    seen = rows[-1][2] if full else upper
    cursor.execute(INSERT_HEAD, [grown, root, seen, signed.note, key.verifier.text])
    return Sealed(len(rows), grown, more=full)


def _read(level: int, first: int, count: int) -> list[bytes]:
    with connection.cursor() as cursor:
        if level == 0:
            cursor.execute(READ_LEAVES, [first, first + count])
        else:
            cursor.execute(READ_TILES, [level, first, first + count])
        found = [bytes(row[0]) for row in cursor.fetchall()]
    if len(found) != count:
        noun = "leaves" if level == 0 else f"tiles of level {level // TILE}"
        raise TreeIsDamaged(f"{count - len(found)} of the {noun} {first} to {first + count - 1} are missing")
    return found
