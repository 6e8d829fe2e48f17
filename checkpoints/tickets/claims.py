"""What a ticket says."""

from __future__ import annotations

from checkpoints.types import JSONObject

TICKET_TYPE = "handoff-approval+jwt"
ALGORITHM = "Ed25519"


def renewed(claims: JSONObject, *, issued_at: int, valid_seconds: int, attempt: int) -> JSONObject:
    """The same approval for another attempt: only `iat`, `nbf`, `exp` and `attempt` differ."""
    return {
        **claims,
        "iat": issued_at,
        "nbf": issued_at,
        "exp": issued_at + valid_seconds,
        "attempt": attempt,
    }
