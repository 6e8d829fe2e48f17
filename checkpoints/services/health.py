"""Whether this installation can do its work now: database, migrations, worker, broker."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Final

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

OK: Final = "ok"
WORKER_LATE_SECONDS: Final = 15.0
BROKER_TIMEOUT_SECONDS: Final = 0.5

_STARTED: Final = time.monotonic()


@dataclass(frozen=True, slots=True)
class Readiness:
    """`status` is ready, degraded or starting; `checks` say "ok" or what is missing."""

    status: str
    checks: dict[str, str]
    serves: bool  # False: nothing should be sent here


_facts: dict[str, bool] = {}  # what was true once and stays true while this process lives


def readiness() -> Readiness:
    """The state of all four parts. A lost broker or a late worker degrades; the rest stops service."""
    checks = {"database": _database(), "migrations": "unknown", "worker": "unknown", "broker": _broker()}
    if checks["database"] == OK:
        checks["migrations"] = _migrations()
        if checks["migrations"] == OK:
            checks["worker"] = _worker()
    serves = checks["database"] == checks["migrations"] == OK and checks["worker"] in (OK, "late")
    if not serves:
        return Readiness("starting", checks, serves=False)
    return Readiness("ready" if set(checks.values()) == {OK} else "degraded", checks, serves=True)


def worker_age_seconds() -> float | None:
    """How long ago a worker last swept, by the database's clock; None where none ever did."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp() - max(at)) FROM worker_heartbeat")
        (age,) = cursor.fetchone()
    return None if age is None else float(age)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        connection.close()
        return "no answer"
    return OK


def _migrations() -> str:
    """Files of a running process do not change: once all are applied, they stay so."""
    if not _facts.get("migrated"):
        executor = MigrationExecutor(connection)
        pending = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if pending:
            return f"{len(pending)} not applied"
        _facts["migrated"] = True
    return OK


def _worker() -> str:
    age = worker_age_seconds()
    if age is not None and age < time.monotonic() - _STARTED:
        _facts["worker"] = True
    if not _facts.get("worker"):
        return "not seen since start"
    return OK if age is not None and age < WORKER_LATE_SECONDS else "late"


_broker_client: tuple[int, redis.Redis] | None = None


def _broker() -> str:
    global _broker_client  # noqa: PLW0603 - CONFIG: one client a process
    if _broker_client is None or _broker_client[0] != os.getpid():
        _broker_client = (
            os.getpid(),
            redis.Redis.from_url(
                settings.REDIS_URL,
                socket_timeout=BROKER_TIMEOUT_SECONDS,
                socket_connect_timeout=BROKER_TIMEOUT_SECONDS,
            ),
        )
    try:
        _broker_client[1].ping()
    except (redis.RedisError, OSError):
        return "no answer"
    return OK
