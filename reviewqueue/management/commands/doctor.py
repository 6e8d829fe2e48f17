"""What this installation is set to, and whether its parts can be reached."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from checkpoints import signing
from checkpoints.management.answering import Answer, AnsweringCommand
from checkpoints.types import JSONObject, JSONValue
from reviewqueue.settings import env

ILL = 2
SILENT_SECONDS = 30
_SECRET = re.compile(r"(?<![A-Z])(SECRET_KEY|METRICS_TOKEN|SECRET_KEY_FALLBACKS)$|PASSWORD")


@dataclass(frozen=True, slots=True)
class Seen:
    """One part that was looked at. `state` is ok, warning or failed; a failed one makes the exit code 2."""

    name: str
    state: str
    text: str


class Command(AnsweringCommand):
    help = (
        "Print the effective settings (secrets masked) and look at database, migrations, broker, worker and signing "
        "key. Exit codes: 0 nothing failed (there may be warnings), 2 something failed."
    )

    def answer(self, options: dict[str, Any]) -> Answer:
        shown = {name: _shown(name, value) for name, value in sorted(env.dump().items())}
        seen = [item for look in LOOKS for item in _safely(look)]
        width = max(len(name) for name in shown)
        lines = ["Settings (docs/settings.md explains them):"]
        lines += [f"  {name:<{width}}  {value}" for name, value in shown.items()]
        lines += ["", "Parts:", *(f"  {item.state:<8} {item.name}: {item.text}" for item in seen)]
        failed = any(item.state == "failed" for item in seen)
        checks: JSONObject = {item.name: {"state": item.state, "detail": item.text} for item in seen}
        return Answer("\n".join(lines), {"settings": shown, "checks": checks}, ILL if failed else 0)


def _shown(name: str, value: Any) -> JSONValue:
    """A value that may be printed: secrets only as set or not, addresses without their password."""
    if _SECRET.search(name):
        return "(set)" if value else "(not set)"
    text = value if isinstance(value, str) else None
    if text and "://" in text:
        parts = urlsplit(text)
        if parts.password:
            host = parts.netloc.rpartition("@")[2]
            return urlunsplit(parts._replace(netloc=f"{parts.username or ''}:***@{host}"))
    return value if isinstance(value, bool | int | str | list) or value is None else str(value)


def _safely(look: Callable[[], Iterator[Seen]]) -> Iterator[Seen]:
    """One part that cannot be looked at must not hide the others."""
    try:
        yield from look()
    except (DatabaseError, redis.RedisError, OSError, ValueError) as error:
        yield Seen(look.__name__.strip("_"), "failed", " ".join(str(error).split()))


def _database() -> Iterator[Seen]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version_num')::int, version(), current_user")
        number, version, user = cursor.fetchone()
    said = f"{version.split(' on ')[0]} as {user}, from {settings.DATABASE_SOURCE}"
    if number < 180000:
        yield Seen("database", "failed", f"{said}: PostgreSQL 18 or newer is needed")
    else:
        yield Seen("database", "ok", said)


def _migrations() -> Iterator[Seen]:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        names = ", ".join(f"{step.app_label}.{step.name}" for step, _ in plan[:5])
        text = f"{len(plan)} missing ({names}): run DATABASE_ROLE=owner manage.py migrate"
        yield Seen("migrations", "failed", text)
    else:
        yield Seen("migrations", "ok", "all applied")


def _rights() -> Iterator[Seen]:
    """Whether the application's role could rewrite the audit trail."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_table_privilege('audit_entry', 'UPDATE, DELETE, TRUNCATE')")
        (may_rewrite,) = cursor.fetchone()
    if may_rewrite and settings.DATABASE_ROLE == "app":
        text = "this role may change audit entries (triggers still refuse it): give app and owner roles of their own"
        yield Seen("rights", "warning", text)
    else:
        yield Seen("rights", "ok", "this role cannot change audit entries")


def _broker() -> Iterator[Seen]:
    with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=3, socket_connect_timeout=3) as broker:
        broker.ping()
    yield Seen("broker", "ok", "answers")


def _worker() -> Iterator[Seen]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM clock_timestamp() - max(at)) FROM worker_heartbeat")
        (age,) = cursor.fetchone()
    if age is None:
        yield Seen("worker", "warning", "none was ever seen in this database: start worker and beat")
    elif age > SILENT_SECONDS:
        yield Seen("worker", "warning", f"last seen {int(age)} seconds ago: are worker and beat running?")
    else:
        yield Seen("worker", "ok", f"last seen {int(age)} seconds ago")


def _signing_key() -> Iterator[Seen]:
    path = settings.TICKET_KEY_FILE
    if not path.is_file():
        yield Seen("signing_key", "failed", f"{path} is missing: run manage.py create_signing_key")
    else:
        keys: Any = signing.current().jwks()["keys"]
        yield Seen("signing_key", "ok", f"{path}, key id {keys[0]['kid']}")


def _secret_key() -> Iterator[Seen]:
    if settings.SECRET_KEY_IS_RANDOM:
        yield Seen(
            "secret_key", "failed", "SECRET_KEY is not set: the web process refuses to start without it"
        )
    else:
        yield Seen("secret_key", "ok", "set")


LOOKS = (_database, _migrations, _rights, _broker, _worker, _signing_key, _secret_key)
