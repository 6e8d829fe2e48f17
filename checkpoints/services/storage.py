"""Telling a database that is away from a fault of ours: the first passes, and the same request works again."""

from __future__ import annotations

from django.db import Error as DatabaseError
from django.db import InterfaceError, InternalError, OperationalError

RETRY_AFTER_SECONDS = 2


def is_away(*, error: BaseException | None) -> bool:
    """Connection lost or refused, pool exhausted, time or lock limit reached, disk full, server read-only."""
    if isinstance(error, OperationalError | InterfaceError):
        return True
    cause = error.__cause__ if error else None
    state = getattr(cause, "sqlstate", None) or ""
    # Class 53: out of disk, memory or connections. 25006: a standby took over and refuses writes.
    return isinstance(error, DatabaseError | InternalError) and (state.startswith("53") or state == "25006")
