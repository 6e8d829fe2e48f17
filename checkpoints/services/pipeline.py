"""A transaction in few journeys: BEGIN travels with its first statement, COMMIT with its last.

Statements run with the server's own parameters, so that they can be prepared once a connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection


@contextmanager
def transaction() -> Iterator[psycopg.Cursor[Any]]:
    """A cursor inside a durable transaction of this thread's connection.

    Statements are sent at once and answered when a result is fetched or the block ends; the last result can be
    fetched after the block. Raises Django's database errors.
    """
    if connection.in_atomic_block:
        raise RuntimeError("What is committed here must last: no transaction may be open around it.")
    connection.ensure_connection()
    own: psycopg.Connection[Any] = connection.connection
    with connection.wrap_database_errors:
        try:
            with own.pipeline():
                edge = psycopg.Cursor(own)
                edge.execute("BEGIN")
                yield psycopg.Cursor(own)
                edge.execute("COMMIT")
        except BaseException:
            if not own.closed:
                own.rollback()  # nothing was committed: a failed statement makes the server skip all after it
            raise
