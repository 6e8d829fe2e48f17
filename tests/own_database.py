"""A database for the tests of one module: for those that publish a policy or load the demo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers import Servers


@contextmanager
def use_own_database(servers: Servers, name: str) -> Iterator[None]:
    """Point this process at a fresh copy of the template called `name`; put everything back afterwards."""
    from django.db import connection, connections

    servers.create_database(name)
    before = connections.settings["default"]["NAME"]

    def use(database: str) -> None:
        connection.close()
        connections.settings["default"]["NAME"] = database
        _forget_policies()

    use(name)
    try:
        yield
    finally:
        use(before)


def _forget_policies() -> None:
    from checkpoints.services import policy

    policy.of_version.cache_clear()
    policy._cached = None
