"""A Merkle tree over numbered leaves, as RFC 9162 §2.1 defines it.

Only leaves and every eighth level of complete subtrees are kept; what lies between is computed. A proof in a tree
of a million leaves reads three runs of at most 256 hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

TILE = 8  # levels between two kept ones
WIDTH = 1 << TILE
EMPTY_ROOT = hashlib.sha256(b"").digest()

# (level, first position, count) -> that many hashes. Levels are 0, 8, 16 …; only complete subtrees are asked for.
type Read = Callable[[int, int, int], list[bytes]]


def leaf_hash(digest: str) -> bytes:
    """The leaf of an audit entry: the hash of its digest's 32 bytes. `digest` is "sha256:" and 64 hex digits."""
    return hashlib.sha256(b"\x00" + bytes.fromhex(digest.removeprefix("sha256:"))).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """The first `size` leaves of what `read` gives."""

    def __init__(self, size: int, read: Read) -> None:
        self.size = size
        self._read = read
        self._tiles: dict[tuple[int, int], list[bytes]] = {}

    def root(self) -> bytes:
        return self._hash(0, self.size) if self.size else EMPTY_ROOT

    def inclusion(self, index: int) -> list[bytes]:
        """The path from leaf `index` to the root (RFC 9162 §2.1.3.1). Raises IndexError for a leaf outside."""
        if not 0 <= index < self.size:
            raise IndexError(f"leaf {index} is not among the {self.size} of this tree")
        return self._path(index, 0, self.size)

    def consistency(self, earlier: int) -> list[bytes]:
        """The proof that the tree of the first `earlier` leaves is a part of this one (RFC 9162 §2.1.4.1)."""
        if not 0 < earlier <= self.size:
            raise IndexError(f"a tree of {earlier} leaves is no part of one of {self.size}")
        return self._part(earlier, 0, self.size, whole=True)

    def _path(self, index: int, start: int, end: int) -> list[bytes]:
        if end - start == 1:
            return []
        middle = start + _split(end - start)
        if index < middle:
            return [*self._path(index, start, middle), self._hash(middle, end)]
        return [*self._path(index, middle, end), self._hash(start, middle)]

    def _part(self, earlier: int, start: int, end: int, *, whole: bool) -> list[bytes]:
        if earlier == end:
            return [] if whole else [self._hash(start, end)]
        middle = start + _split(end - start)
        if earlier <= middle:
            return [*self._part(earlier, start, middle, whole=whole), self._hash(middle, end)]
        return [*self._part(earlier, middle, end, whole=False), self._hash(start, middle)]

    def _hash(self, start: int, end: int) -> bytes:
        """The hash over leaves start…end-1. `start` is aligned to the largest power of two that fits."""
        width = end - start
        if width & (width - 1) == 0:
            level = width.bit_length() - 1
            return self._complete(level, start >> level)
        middle = start + _split(width)
        return node_hash(self._hash(start, middle), self._hash(middle, end))

    def _complete(self, level: int, position: int) -> bytes:
        kept = level - level % TILE
        count = 1 << (level - kept)
        first = position * count
        tile, offset = divmod(first, WIDTH)
        return _fold(self._tile(kept, tile)[offset : offset + count])

    def _tile(self, level: int, tile: int) -> list[bytes]:
        """Up to 256 neighbours of a kept level: those that are complete in this tree."""
        if (level, tile) not in self._tiles:
            complete = (self.size >> level) - tile * WIDTH
            self._tiles[level, tile] = self._read(level, tile * WIDTH, min(WIDTH, complete))
        return self._tiles[level, tile]


class Frontier:
    """A tree that only grows: keeps the roots of its complete subtrees, largest first."""

    def __init__(self) -> None:
        self.size = 0
        self._roots: list[bytes] = []

    def append(self, leaf: bytes) -> None:
        self._roots.append(leaf)
        self.size += 1
        size = self.size
        while size % 2 == 0:
            right, left = self._roots.pop(), self._roots.pop()
            self._roots.append(node_hash(left, right))
            size //= 2

    def root(self) -> bytes:
        if not self._roots:
            return EMPTY_ROOT
        root = self._roots[-1]
        for left in reversed(self._roots[:-1]):
            root = node_hash(left, root)
        return root


def new_tiles(before: int, after: int, read: Read) -> Iterator[tuple[int, int, bytes]]:
    """(level, position, hash) of the kept subtrees that are complete at `after` leaves and were not at `before`.

    `read` must find those of lower levels by the time they are asked for: store each as it comes.
    """
    level = TILE
    while after >> level:
        for position in range(before >> level, after >> level):
            yield level, position, _fold(read(level - TILE, position * WIDTH, WIDTH))
        level += TILE


def _fold(hashes: list[bytes]) -> bytes:
    while len(hashes) > 1:
        hashes = [node_hash(hashes[at], hashes[at + 1]) for at in range(0, len(hashes), 2)]
    return hashes[0]


def _split(width: int) -> int:
    """The largest power of two below `width`."""
    return 1 << ((width - 1).bit_length() - 1)
