"""Bytes in, values out, and back: the strict parser, RFC 8785, digests and exact slices.

Nothing here knows a checkpoint format; `checkpoints.formats` says which members a hash covers.
"""

from checkpoints.canonical.hashes import (
    consistency_hash,
    context_fingerprint,
    engine_fingerprint,
    matching_serialisation,
    normalize_claimed,
)
from checkpoints.canonical.jcs import canonicalize, digest, digest_bytes
from checkpoints.canonical.parsing import load_trusted, parse, parse_value
from checkpoints.canonical.slices import item_slices, member_slice

__all__ = [
    "canonicalize",
    "consistency_hash",
    "context_fingerprint",
    "digest",
    "digest_bytes",
    "engine_fingerprint",
    "item_slices",
    "load_trusted",
    "matching_serialisation",
    "member_slice",
    "normalize_claimed",
    "parse",
    "parse_value",
]
