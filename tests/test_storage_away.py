"""A database that is away is no fault of ours: 503, and used again as soon as it is back."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from django.db import DatabaseError, connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.test import Client

from checkpoints.services.tokens import create_token
from checkpoints.types import COMMAND_LINE
from reviewqueue.settings import pool_options
from tests.characters import fresh, person
from tests.servers import Servers
from tests.visiting import signed_in


@pytest.fixture
def lose_connection(db: None, servers: Servers) -> Iterator[None]:
    """The database has ended this process's session, and the process does not know yet."""
    connection.ensure_connection()
    pid = connection.connection.info.backend_pid
    with psycopg.connect(servers.url("superuser", "postgres"), autocommit=True) as root:
        root.execute("SELECT pg_terminate_backend(%s, 2000)", [pid])
    yield
    connection.close()


@pytest.fixture
def alice(db: None) -> Client:
    return signed_in(person(name="alice"), raise_request_exception=False)


@pytest.mark.parametrize("path", ["/queue/", "/handoffs/"])
def test_a_page_whose_database_session_was_ended_is_503_and_works_again(
    alice: Client, lose_connection: None, path: str
) -> None:
    lost = alice.get(path)
    assert (lost.status_code, lost["Retry-After"]) == (503, "2")
    assert "The database does not answer now." in lost.content.decode()
    connection.close()
    assert alice.get(path).status_code == 200


@pytest.fixture
def token(db: None) -> str:
    return create_token(orchestrator_name=fresh("orchestrator"), actor=COMMAND_LINE)[0]


def test_the_api_says_the_same_as_a_problem(token: str, lose_connection: None) -> None:
    client = Client(raise_request_exception=False)
    answer = client.get("/api/v1/handoffs", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert answer.json()["type"] == "/problems/storage-unavailable"


class Door:
    """A way to PostgreSQL over a port of our own, to be closed and opened."""

    def __init__(self, target: int) -> None:
        self.target, self.open, self.pipes = target, True, list[socket.socket]()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.listener.getsockname()[1])
        threading.Thread(target=self._welcome, daemon=True).start()

    def _welcome(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if not self.open:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.target))
            self.pipes += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._carry, args=pair, daemon=True).start()

    @staticmethod
    def _carry(source: socket.socket, target: socket.socket) -> None:
        try:
            while content := source.recv(65_536):
                target.sendall(content)
        except OSError:
            pass

    def shut(self) -> None:
        self.open = False
        for pipe in self.pipes:
            pipe.close()
        self.pipes.clear()


@pytest.fixture
def pooled(servers: Servers, server_environment: dict[str, str]) -> Iterator[tuple[Door, DatabaseWrapper]]:
    """A connection of the web process's kind, out of its pool, through a door of its own."""
    door = Door(servers.port)
    config = connection.settings_dict | {"HOST": "127.0.0.1", "PORT": door.port}
    config["OPTIONS"] = config["OPTIONS"] | {"pool": pool_options(4) | {"timeout": 1}}
    found = DatabaseWrapper(config, alias="through-a-door")
    connections[found.alias] = found  # Django looks it up by its name
    yield door, found
    found.close()
    found.close_pool()
    del connections[found.alias]
    door.listener.close()
    door.shut()


def test_the_web_pool_uses_a_database_at_once_when_it_is_back(
    db: None, pooled: tuple[Door, DatabaseWrapper]
) -> None:
    door, database = pooled

    def works() -> bool:
        try:
            with database.cursor() as cursor:
                cursor.execute("SELECT 1")
        except DatabaseError:
            return False
        finally:
            database.close()
        return True

    assert works()
    door.shut()
    gone = time.monotonic()
    while time.monotonic() - gone < 3.5:  # pauses that double: 1, 2, 4 seconds
        assert not works()
    door.open = True
    back = time.monotonic()
    while not works():
        assert time.monotonic() - back < 2, "the pool still pauses"
