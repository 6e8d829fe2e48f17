"""One clock: the database's (contract §2.13)."""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def now() -> datetime:
    """`clock_timestamp()`. Read it after the lock that orders the act, and pass it down."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        (at,) = cursor.fetchone()
    return at  # type: ignore[no-any-return]
