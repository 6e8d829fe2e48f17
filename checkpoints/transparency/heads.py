"""Signed tree heads as text: C2SP tlog-checkpoint in a signed note.

    reviewqueue/audit
    20852
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

    — reviewqueue/audit Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5…

Lines: origin, size in decimal, root in base64, an empty one, then signatures. A verifier key is
`origin+8 hex digits+base64`, as the signed note specification has it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

ED25519 = b"\x01"


@dataclass(frozen=True, slots=True)
class Head:
    """What a tree was: how many leaves, under which root (32 bytes)."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """The signed part."""
        return f"{self.origin}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head with its whole note, signatures included. Read is not yet verified: see Verifier.check."""

    head: Head
    note: str


class HeadKey:
    """The private key that signs heads of one origin."""

    def __init__(self, origin: str, key: Ed25519PrivateKey) -> None:
        self.origin, self._key = origin, key
        self.verifier = Verifier(origin, key.public_key())

    @classmethod
    def read(cls, path: Path, *, origin: str) -> HeadKey:
        """From a PEM file. Raises OSError or ValueError."""
        key = load_pem_private_key(path.read_bytes(), password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise ValueError(f"{path} holds no Ed25519 key")
        return cls(origin, key)

    def sign(self, *, size: int, root: bytes) -> SignedHead:
        head = Head(self.origin, size, root)
        signature = base64.b64encode(self.verifier.key_hash + self._key.sign(head.text().encode())).decode()
        return SignedHead(head, f"{head.text()}\n\u2014 {self.origin} {signature}\n")


class Verifier:
    """A public key and the origin it speaks for."""

    def __init__(self, origin: str, key: Ed25519PublicKey) -> None:
        self.origin, self._key = origin, key
        raw = ED25519 + key.public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.key_hash = hashlib.sha256(f"{origin}\n".encode() + raw).digest()[:4]
        self.text = f"{origin}+{self.key_hash.hex()}+{base64.b64encode(raw).decode()}"

    def check(self, signed: SignedHead) -> None:
        """Raises ValueError unless this key signed the head."""
        if signed.head.origin != self.origin:
            raise ValueError(f"the head is of {signed.head.origin!r}, the key of {self.origin!r}")
        for line in _signatures(signed.note):
            name, _, encoded = line.removeprefix("\u2014 ").rpartition(" ")
            blob = _base64(encoded)
            if name != self.origin or blob[:4] != self.key_hash:
                continue
            try:
                self._key.verify(blob[4:], signed.head.text().encode())
            except InvalidSignature:
                raise ValueError(f"the signature of the head of size {signed.head.size} is wrong") from None
            return
        raise ValueError(f"the head of size {signed.head.size} bears no signature of this key")


def read_verifier(text: str) -> Verifier:
    """From `origin+hash+base64`. Raises ValueError."""
    try:
        origin, given, encoded = text.strip().split("+", 2)
    except ValueError:
        raise ValueError("a verifier key reads origin+8 hex digits+base64") from None
    raw = _base64(encoded)
    if raw[:1] != ED25519 or len(raw) != 33:
        raise ValueError("the verifier key is no Ed25519 key of a signed note")
    verifier = Verifier(origin, Ed25519PublicKey.from_public_bytes(raw[1:]))
    if verifier.key_hash.hex() != given:
        raise ValueError("the verifier key's hash does not belong to its name and key")
    return verifier


def read_heads(text: str) -> Iterator[SignedHead]:
    """Notes that stand one after the other. Raises ValueError at the first that is none."""
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        signed, at = _one(lines, at)
        yield signed


def _one(lines: list[str], at: int) -> tuple[SignedHead, int]:
    if len(lines) < at + 5 or lines[at + 3]:
        raise ValueError(f"line {at + 1} begins no signed head: origin, size, root, empty line, signature")
    if not lines[at + 1].isascii() or not lines[at + 1].isdecimal():
        raise ValueError(f"line {at + 2} is no tree size")
    root = _base64(lines[at + 2])
    if len(root) != 32:
        raise ValueError(f"line {at + 3} is no root: 32 bytes in base64")
    end = at + 4
    while end < len(lines) and lines[end].startswith("\u2014 "):
        end += 1
    if end == at + 4:
        raise ValueError(f"line {at + 5} is no signature")
    note = "\n".join(lines[at:end]) + "\n"
    return SignedHead(Head(lines[at], int(lines[at + 1]), root), note), end


def _signatures(note: str) -> list[str]:
    return [line for line in note.splitlines() if line.startswith("\u2014 ")]


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{text[:20]!r} is no base64") from None
