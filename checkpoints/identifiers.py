"""Identifiers that the server makes."""

from __future__ import annotations

import os
import time
from uuid import UUID


def uuid7() -> UUID:
    """A UUIDv7 (RFC 9562): 48 bits of Unix milliseconds, the rest random. Not monotonic within a millisecond."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds << 80) | int.from_bytes(os.urandom(10))
    value &= ~(0xF << 76) & ~(0x3 << 62)
    return UUID(int=value | (0x7 << 76) | (0x2 << 62))
