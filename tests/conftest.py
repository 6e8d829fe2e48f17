"""Servers, database access and isolation for all tests.

Tests commit for real: append-only triggers refuse TRUNCATE and a savepoint hides what a second connection sees.
They stay apart by making their own orchestrators and people. A test that needs the database asks for `db` (or is
marked `django_db`); the first one starts the servers, so that pure tests run without any.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from reviewqueue.models import User
    from tests.browser import Visit

from tests.servers import Run, Servers, servers_of

FOLDER = "REVIEWQUEUE_TEST_RUN"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        run = Run()
        os.environ[FOLDER] = str(run.folder)  # the workers of xdist inherit it
        config.add_cleanup(run.end)


@pytest.fixture(scope="session")
def servers() -> Servers:
    """PostgreSQL and Valkey of this run."""
    return servers_of(Path(os.environ[FOLDER]))


@pytest.fixture(scope="session")
def worker_number() -> int:
    """0 for the only or first worker of pytest-xdist; also the number of the Valkey database it uses."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


@pytest.fixture(scope="session")
def server_environment(servers: Servers, worker_number: int) -> dict[str, str]:
    """Environment variables that point a process of the product at this worker's own database and broker."""
    name = f"reviewqueue_gw{worker_number}"
    servers.create_database(name)
    return servers.environment(name, worker_number)


@pytest.fixture(scope="session")
def django_db_setup(server_environment: dict[str, str], worker_number: int) -> Iterator[None]:
    """Point this process at its database, as the application's role. Replaces pytest-django's own."""
    import dj_database_url
    from django.conf import settings
    from django.db import connections

    from reviewqueue.celery import app
    from reviewqueue.services.keys import create_key
    from reviewqueue.services.minting import install_signer

    for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT"):
        connections.settings["default"][name] = dj_database_url.parse(server_environment["DATABASE_URL"])[
            name
        ]
    settings.REDIS_URL = settings.CELERY_BROKER_URL = server_environment["REDIS_URL"]
    app.conf.update(broker_url=settings.CELERY_BROKER_URL)
    settings.TICKET_KEY_FILE = Path(os.environ[FOLDER]) / f"keys-{worker_number}" / "ticket-key.pem"
    create_key(path=settings.TICKET_KEY_FILE)
    install_signer()
    yield
    connections.close_all()


@pytest.fixture
def _django_db_helper(django_db_setup: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[None]:
    """Allow the database for one test, without pytest-django's transaction, flush or reset."""
    from django.db import connection

    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        _leave_other_databases()
        yield
        left_open = connection.in_atomic_block
        if not connection.is_usable() or left_open:
            connection.close()
        assert not left_open, "The test left a transaction open."


def _leave_other_databases() -> None:
    """A thread with a browser's event loop has a connection of its own, which outlives a module's own database."""
    from django.db import connection

    if connection.connection and connection.connection.info.dbname != connection.settings_dict["NAME"]:
        connection.close()


@pytest.fixture
def db(_django_db_helper: None) -> None:
    """The database of this worker. What a test writes stays: use fresh orchestrators, sessions and people."""


@pytest.fixture(scope="module")
def own_database(
    request: pytest.FixtureRequest,
    django_db_setup: None,
    django_db_blocker: pytest.FixtureRequest,
    servers: Servers,
    worker_number: int,
) -> Iterator[str]:
    """A database of this module's own, for tests that publish policies or look at everything. Gives its name."""
    from tests.own_database import use_own_database

    name = f"{request.module.__name__.rpartition('.')[2]}_gw{worker_number}"
    with django_db_blocker.unblock(), use_own_database(servers, name):  # type: ignore[attr-defined]
        yield name


@pytest.fixture
def transactional_db(db: None) -> None:
    """The same as `db`: every test here commits."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, one a module."""
    from tests.browser import running_browser

    with running_browser() as running:
        yield running


@pytest.fixture
def visit(browser: Browser, live_server: Any) -> Iterator[Visit]:
    """Makes visitors, signed in where a user is given. A page of theirs that misbehaved fails the test."""
    from tests.browser import Visitor

    visitors: list[Visitor] = []

    def come(user: User | None = None, **options: Any) -> Visitor:
        visitor = Visitor(browser, live_server.url, **options)
        visitors.append(visitor)
        return visitor.sign_in(user) if user else visitor

    yield come
    trouble = [line for visitor in visitors for line in visitor.trouble]
    for visitor in visitors:
        visitor.close()
    assert not trouble
