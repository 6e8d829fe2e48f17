"""Signed heads: text that other tools read, signatures that hold for one origin and one key."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checkpoints.transparency import HeadKey, read_heads, read_verifier

ROOT = bytes(range(32))


@pytest.fixture
def key() -> HeadKey:
    return HeadKey("example.test/audit", Ed25519PrivateKey.generate())


def test_a_head_reads_back_and_its_key_travels_as_text(key: HeadKey) -> None:
    notes = "\n".join(key.sign(size=size, root=ROOT).note for size in (1, 300))
    first, second = read_heads(notes)
    assert (first.head.size, second.head.size, first.head.root) == (1, 300, ROOT)
    verifier = read_verifier(key.verifier.text)
    verifier.check(first)
    verifier.check(second)


def test_a_known_note_verifies_with_its_known_key() -> None:
    """The example of the signed note specification: key and text by others than us."""
    verifier = read_verifier("PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW")
    assert verifier.origin == "PeterNeumann"
    assert verifier.key_hash.hex() == "c74f20a3"


@pytest.mark.parametrize(
    ("old", "new"),
    [("example.test/audit\n300", "example.test/other\n300"), ("\n300\n", "\n301\n"), ("\nAAEC", "\nBAEC")],
    ids=["origin", "size", "root"],
)
def test_a_changed_head_is_refused(key: HeadKey, old: str, new: str) -> None:
    note = key.sign(size=300, root=ROOT).note
    assert note.count(old) == 1
    [changed] = read_heads(note.replace(old, new))
    with pytest.raises(ValueError, match=r"signature|of '"):
        key.verifier.check(changed)


def test_a_head_of_another_key_is_refused(key: HeadKey) -> None:
    other = HeadKey(key.origin, Ed25519PrivateKey.generate())
    [signed] = read_heads(other.sign(size=3, root=ROOT).note)
    with pytest.raises(ValueError, match="no signature of this key"):
        key.verifier.check(signed)


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "a\nb\nc\n\n— a b",
        "a\n1\nnot base64\n\n— a b",
        "a\n1\nAAEC\n\n— a b",
        "a\n1\n2",
        "a\n٣\nAAEC\n\n— a b",
    ],
)
def test_what_is_no_head_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"line|base64"):
        list(read_heads(text))


@pytest.mark.parametrize(
    "text",
    ["", "a+b", "a+00000000+AAAA", "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"],
)
def test_what_is_no_verifier_key_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="verifier key"):
        read_verifier(text)


def test_a_key_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_text("no key")
    with pytest.raises(ValueError, match="PEM"):
        HeadKey.read(path, origin="a")
