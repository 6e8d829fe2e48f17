"""Judging proofs without the tree (RFC 9162 §2.1.3.2 and §2.1.4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from checkpoints.transparency.tree import node_hash


class NotProven(Exception):
    """The proof does not show what it claims; the text says what does not fit."""


def verify_inclusion(*, leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> None:
    """Raises NotProven unless `leaf` is number `index` of the `size` leaves under `root`."""
    if not 0 <= index < size:
        raise NotProven(f"leaf {index} lies outside of a tree of {size}")
    position, last, found = index, size - 1, leaf
    for step in path:
        if last == 0:
            raise NotProven("the path is longer than the tree is high")
        if position % 2 or position == last:
            found = node_hash(step, found)
            while position % 2 == 0 and position:
                position, last = position >> 1, last >> 1
        else:
            found = node_hash(found, step)
        position, last = position >> 1, last >> 1
    if last:
        raise NotProven("the path is shorter than the tree is high")
    if found != root:
        raise NotProven("the path leads to another root")


def verify_consistency(
    *, earlier: int, earlier_root: bytes, later: int, later_root: bytes, path: Sequence[bytes]
) -> None:
    """Raises NotProven unless the tree of `earlier` leaves is the beginning of the one of `later` leaves."""
    if not 0 < earlier <= later:
        raise NotProven(f"a tree of {earlier} leaves cannot be the beginning of one of {later}")
    if earlier == later:
        if path or earlier_root != later_root:
            raise NotProven("two trees of one size have different roots")
        return
    steps = [earlier_root, *path] if earlier & (earlier - 1) == 0 else list(path)
    if not steps:
        raise NotProven("the path is empty")
    position, last = earlier - 1, later - 1
    while position % 2:
        position, last = position >> 1, last >> 1
    old = new = steps[0]
    for step in steps[1:]:
        if last == 0:
            raise NotProven("the path is longer than the tree is high")
        if position % 2 or position == last:
            old, new = node_hash(step, old), node_hash(step, new)
            while position % 2 == 0 and position:
                position, last = position >> 1, last >> 1
        else:
            new = node_hash(new, step)
        position, last = position >> 1, last >> 1
    if last:
        raise NotProven("the path is shorter than the tree is high")
    if old != earlier_root:
        raise NotProven("the path does not begin with the earlier tree")
    if new != later_root:
        raise NotProven("the path does not lead to the later root")
