"""The tree is RFC 9162's: roots, proofs, and what must not pass for one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from checkpoints.transparency import (
    EMPTY_ROOT,
    TILE,
    Frontier,
    NotProven,
    Tree,
    leaf_hash,
    new_tiles,
    node_hash,
    verify_consistency,
    verify_inclusion,
)

# The eight inputs and the roots that implementations of Certificate Transparency test with.
INPUTS = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = {
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
LEAVES = [hashlib.sha256(b"\x00" + bytes.fromhex(text)).digest() for text in INPUTS]
MANY = [hashlib.sha256(b"\x00" + str(number).encode()).digest() for number in range(70_000)]


def reading(leaves: list[bytes]) -> Callable[[int, int, int], list[bytes]]:
    """What a store of these leaves gives, with tiles made as the sealer makes them: in batches."""
    tiles: dict[int, list[bytes]] = {0: leaves}

    def read(level: int, first: int, count: int) -> list[bytes]:
        found = tiles.get(level, [])[first : first + count]
        assert len(found) == count, "asked for a subtree that is not complete"
        return found

    size = 0
    for batch in (1, 254, 1, 1, 300, 10**9):
        grown = min(len(leaves), size + batch)
        for level, position, digest in new_tiles(size, grown, read):
            assert position == len(tiles.setdefault(level, []))
            tiles[level].append(digest)
        size = grown
    return read


def plain_root(leaves: list[bytes]) -> bytes:
    """RFC 9162 §2.1.1, word by word."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return node_hash(plain_root(leaves[:split]), plain_root(leaves[split:]))


@pytest.mark.parametrize("size", ROOTS)
def test_known_roots_are_found(size: int) -> None:
    assert Tree(size, reading(LEAVES)).root().hex() == ROOTS[size]


def test_a_leaf_is_the_hash_of_the_digests_bytes() -> None:
    digest = hashlib.sha256(b"entry").hexdigest()
    assert leaf_hash(f"sha256:{digest}") == hashlib.sha256(b"\x00" + bytes.fromhex(digest)).digest()


SIZES = [0, 1, 2, 3, 7, 255, 256, 257, 511, 512, 513, 1000, 65_535, 65_536, 65_537, 70_000]


@pytest.mark.parametrize("size", SIZES)
def test_root_of_tiles_of_a_growing_frontier_and_of_the_definition_agree(size: int) -> None:
    frontier = Frontier()
    for leaf in MANY[:size]:
        frontier.append(leaf)
    root = Tree(size, reading(MANY)).root()
    assert root == frontier.root() == plain_root(MANY[:size])
    assert (root == EMPTY_ROOT) is (size == 0)


@pytest.mark.parametrize("size", [*range(1, 20), 255, 256, 257, 600, 70_000])
def test_each_leaf_is_proven_and_no_other(size: int) -> None:
    tree, root = Tree(size, reading(MANY)), Tree(size, reading(MANY)).root()
    for index in range(size) if size < 700 else (0, 1, 255, 256, 65_535, 65_536, 69_999):
        path = tree.inclusion(index)
        verify_inclusion(leaf=MANY[index], index=index, size=size, path=path, root=root)
        wrong = [
            {"leaf": MANY[index - 1] if size > 1 else EMPTY_ROOT},
            {"index": index + 1},
            {"root": EMPTY_ROOT},
            {"path": [*path, EMPTY_ROOT]},
        ]
        if path:
            wrong += [{"path": path[:-1]}, {"path": [EMPTY_ROOT, *path[1:]]}]
        for change in wrong:
            with pytest.raises(NotProven):
                verify_inclusion(
                    **(
                        {"leaf": MANY[index], "index": index, "size": size, "path": path, "root": root}
                        | change
                    )
                )


@pytest.mark.parametrize("later", [1, 2, 3, 7, 8, 9, 255, 256, 257, 513])
def test_each_earlier_tree_is_proven_to_be_a_beginning_and_no_other(later: int) -> None:
    tree = Tree(later, reading(MANY))
    root = tree.root()
    for earlier in range(1, later + 1):
        given = {
            "earlier": earlier,
            "earlier_root": plain_root(MANY[:earlier]),
            "later": later,
            "later_root": root,
            "path": tree.consistency(earlier),
        }
        verify_consistency(**given)
        rewritten = plain_root([EMPTY_ROOT, *MANY[1:earlier]])
        for change in (
            {"earlier_root": rewritten},
            {"later_root": EMPTY_ROOT},
            {"path": [*tree.consistency(earlier), root]},
        ):
            with pytest.raises(NotProven):
                verify_consistency(**(given | change))


def test_a_proof_reads_few_runs_however_large_the_tree() -> None:
    asked: list[tuple[int, int, int]] = []
    read = reading(MANY)

    def counting(level: int, first: int, count: int) -> list[bytes]:
        asked.append((level, first, count))
        return read(level, first, count)

    Tree(70_000, counting).inclusion(40_000)
    assert len(asked) <= 5
    assert all(count <= 1 << TILE for _, _, count in asked)


@pytest.mark.parametrize("index", [-1, 3])
def test_a_leaf_outside_has_no_path(index: int) -> None:
    with pytest.raises(IndexError):
        Tree(3, reading(LEAVES)).inclusion(index)
