"""RFC 8785 canonical JSON, and SHA-256 digests in the text form `sha256:` + 64 lower-case hex digits."""

from __future__ import annotations

import hashlib

import orjson
import rfc8785

from checkpoints.types import JSONValue

SAFE_INTEGER = (1 << 53) - 1


def canonicalize(value: JSONValue) -> bytes:
    """RFC 8785 bytes of a value. Raises ValueError for what JSON cannot say: NaN, surrogates, ints past 2^53-1."""
    if _sorts_like_jcs(value):
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # a lone surrogate or a key that is no string: let rfc8785 name the fault
            pass
    return rfc8785.dumps(value)


def digest(value: JSONValue) -> str:
    """`sha256:…` over the canonical bytes of a value."""
    return digest_bytes(canonicalize(value))


def digest_bytes(data: bytes) -> str:
    """`sha256:…` over the bytes as they are."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _sorts_like_jcs(value: JSONValue) -> bool:
    """Whether orjson's sorted output is RFC 8785 to the byte.

    Three things differ: floats (1.0, 1e16, -0.0), integers past 2^53-1 (RFC 8785 has none), and the order of
    keys from U+D800 up, which orjson sorts by UTF-8 bytes and RFC 8785 by UTF-16 units.
    """
    stack: list[JSONValue] = [value]
    while stack:
        item = stack.pop()
        kind = type(item)
        if kind is dict:
            for key in item:  # type: ignore[union-attr]
                if type(key) is not str or (not key.isascii() and max(key) >= "\ud800"):
                    return False
            stack.extend(item.values())  # type: ignore[union-attr]
        elif kind is list:
            stack.extend(item)  # type: ignore[arg-type]
        elif kind is int:
            if not -SAFE_INTEGER <= item <= SAFE_INTEGER:  # type: ignore[operator]
                return False
        elif kind is not str and kind is not bool and item is not None:
            return False
    return True
