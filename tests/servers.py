"""Throw-away PostgreSQL and Valkey for one test run, shared by all workers of pytest-xdist.

The first test that needs a database starts a keeper process (this module as a program). It starts the servers,
migrates the template database as the owner and writes `servers.json`. The keeper waits for a file lock that the
pytest process which began the run holds: however that process ends, the lock falls and everything is removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg

from reviewqueue.up import embedded
from reviewqueue.up.children import is_root

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = "reviewqueue_template"
# Nothing here has to survive a power cut.
FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
}


# It outlives the function that starts it, and a forgotten Popen object warns.
_KEEPERS: list[subprocess.Popen[bytes]] = []


@dataclass(frozen=True)
class Servers:
    """Where the servers of this run listen. `passwords` has owner, app, sealer and superuser."""

    port: int
    passwords: dict[str, str]
    valkey_port: int
    valkey_password: str
    keeper: int

    def url(self, role: str, database: str) -> str:
        name = embedded.ROLES.get(role, embedded.SUPERUSER)
        return embedded.database_url(
            role=name, password=self.passwords[role], port=self.port, database=database
        )

    def redis_url(self, number: int) -> str:
        return embedded.valkey_url(port=self.valkey_port, password=self.valkey_password, number=number)

    def environment(self, database: str, number: int = 0) -> dict[str, str]:
        """What a process of the product needs to use `database` of this run."""
        return {
            "DATABASE_URL": self.url("app", database),
            "DATABASE_OWNER_URL": self.url("owner", database),
            "DATABASE_SEALER_URL": self.url("sealer", database),
            "REDIS_URL": self.redis_url(number),
            "SECRET_KEY": "only-for-tests-" + self.passwords["app"],
        }

    def create_database(self, name: str) -> None:
        """A copy of the migrated template."""
        with psycopg.connect(self.url("superuser", "postgres"), autocommit=True) as connection:
            embedded.create_database(connection, name, template=TEMPLATE)


class Run:
    """One test run's folder; the process that makes it keeps the servers alive."""

    def __init__(self) -> None:
        parent = embedded.shared_folder() if is_root() else None
        self.folder = Path(tempfile.mkdtemp(prefix="test-", dir=parent))
        self.folder.chmod(0o711)
        self._lifeline = (self.folder / "lifeline").open("w")
        fcntl.flock(self._lifeline, fcntl.LOCK_EX)

    def end(self) -> None:
        keeper = _read_servers(self.folder)
        self._lifeline.close()
        if keeper is None:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for _ in range(100):
            if not self.folder.exists():
                return
            time.sleep(0.05)


def servers_of(folder: Path) -> Servers:
    """The servers of the run in `folder`, started now if nobody did so yet."""
    with (folder / "start").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (found := _read_servers(folder)) is not None:
            return found
        argv = [sys.executable, "-m", "tests.servers", str(folder)]
        log = folder / "keeper.log"
        with log.open("wb") as output:
            keeper = subprocess.Popen(argv, stdout=output, stderr=output, cwd=ROOT, start_new_session=True)
        _KEEPERS.append(keeper)
        while keeper.poll() is None:
            if (found := _read_servers(folder)) is not None:
                return found
            time.sleep(0.05)
        raise RuntimeError(f"The test servers did not start.\n{log.read_text()}")


def _read_servers(folder: Path) -> Servers | None:
    try:
        return Servers(**json.loads((folder / "servers-of-run.json").read_text()))
    except FileNotFoundError:
        return None


# The keeper process


def keep(folder: Path) -> None:
    children: list[subprocess.Popen[bytes]] = []
    try:
        servers = _start(folder, children)
        draft = folder / "draft.json"
        draft.touch(mode=0o600)
        draft.write_text(json.dumps(asdict(servers)))
        draft.rename(folder / "servers-of-run.json")
        with (folder / "lifeline").open() as lifeline:
            fcntl.flock(lifeline, fcntl.LOCK_SH)  # returns when the run is over
    finally:
        for child in reversed(children):
            child.send_signal(signal.SIGQUIT if child is children[0] else signal.SIGTERM)
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def _start(folder: Path, children: list[subprocess.Popen[bytes]]) -> Servers:
    passwords = {name: secrets.token_urlsafe(18) for name in (*embedded.ROLES, "superuser")}
    servers = Servers(
        port=embedded.free_port(),
        passwords=passwords,
        valkey_port=embedded.free_port(),
        valkey_password=secrets.token_urlsafe(18),
        keeper=os.getpid(),
    )
    log = folder / "servers.log"
    embedded.initialise_postgres(folder / "pg", password=passwords["superuser"], log=log, durable=False)
    postgres = embedded.start_postgres(folder / "pg", port=servers.port, log=log, options=FAST)
    children.append(postgres)
    children.append(
        embedded.start_valkey(port=servers.valkey_port, password=servers.valkey_password, log=log)
    )

    def check() -> None:
        if postgres.poll() is not None:
            raise RuntimeError(f"PostgreSQL ended with code {postgres.returncode}.\n{log.read_text()}")

    with embedded.connect_when_ready(servers.url("superuser", "postgres"), check) as connection:
        embedded.create_roles_and_database(connection, passwords)
        embedded.create_database(connection, TEMPLATE)
    environment = os.environ | servers.environment(TEMPLATE) | {"DATABASE_ROLE": "owner"}
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=ROOT,
        env=environment,
        check=True,
    )
    return servers


if __name__ == "__main__":
    keep(Path(sys.argv[1]))
