"""RFC 8785 canonical JSON, and SHA-256 digests in the text form `sha256:` + 64 lower-case hex digits."""

from __future__ import annotations

import hashlib

import orjson
import rfc8785

from checkpoints.types import JSONValue

SAFE_INTEGER = (1 << 53) - 1


def canonicalize(value: JSONValue) -> bytes:
    """RFC 8785 bytes of a value. Raises ValueError for what it cannot say: NaN, surrogates, ints past 2^53-1."""
    if _numbers_agree(value):
        try:
            written = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except TypeError:  # a lone surrogate or a key that is no string: let rfc8785 name the fault
            pass
        else:
            if written.isascii() or _keys_agree(value):
                return written
    return rfc8785.dumps(value)


def digest(value: JSONValue) -> str:
    """`sha256:…` over the canonical bytes of a value."""
    return digest_bytes(canonicalize(value))


def digest_bytes(data: bytes) -> str:
    """`sha256:…` over the bytes as they are."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _numbers_agree(value: JSONValue) -> bool:
    """Whether orjson writes all numbers as RFC 8785 does, and nothing but JSON values stand here.

    Whole floats differ (1.0, 1e16, -0.0), so do very small ones, and RFC 8785 has no integers past 2^53-1.
    """
    items: list[JSONValue] = [value]
    for item in items:  # grows while it is read
        kind = type(item)
        if kind is str:
            continue
        if kind is dict:
            items.extend(item.values())  # type: ignore[union-attr]
        elif kind is list:
            items.extend(item)  # type: ignore[arg-type]
        elif kind is int:
            if not -SAFE_INTEGER <= item <= SAFE_INTEGER:  # type: ignore[operator]
                return False
        elif kind is float:
            # NaN and the infinities fail this comparison or the next.
            if not 1e-4 < abs(item) < 1e15 or item == int(item):  # type: ignore[arg-type]
                return False
        elif item is not None and kind is not bool:
            return False
    return True


def _keys_agree(value: JSONValue) -> bool:
    """Whether keys sort alike as UTF-8 bytes and as UTF-16 units: below U+D800 they do."""
    items: list[JSONValue] = [value]
    for item in items:
        if type(item) is dict:
            if any(not key.isascii() and max(key) >= "\ud800" for key in item):
                return False
            items.extend(item.values())
        elif type(item) is list:
            items.extend(item)
    return True
