"""Servers and programs of one bench run: thrown away at its end, and durable while it lasts."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import psycopg

from reviewqueue import processes
from reviewqueue.up import embedded, programs
from reviewqueue.up.children import is_root, spawn
from reviewqueue.up.embedded import NotUsable

ROOT = Path(__file__).resolve().parent.parent.parent
READY_SECONDS = 60.0
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
TEMPLATE = "template_of_bench"
NAIVE = "naive"
ROWS = "bare_rows"  # the database of pgbench
WEB_THREADS = 232  # as the product starts


class Machine:
    """PostgreSQL, Valkey and whatever is started on them. Use as a context manager, from the main thread."""

    def __init__(self) -> None:
        parent = embedded.shared_folder() if is_root() else None
        self.folder = Path(tempfile.mkdtemp(prefix="bench-", dir=parent))
        self.folder.chmod(0o711)
        self.passwords = {
            name: secrets.token_urlsafe(18) for name in (*embedded.ROLES, "superuser", "valkey")
        }
        self.postgres_port, self.valkey_port = embedded.free_port(), embedded.free_port()
        self.log = self.folder / "log"
        self.database = TEMPLATE
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Machine:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        while self._children:
            self.end(self._children[-1])
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        cluster = self.folder / "pg"
        embedded.initialise_postgres(cluster, password=self.passwords["superuser"], log=self.log)
        # Pages are written in the background as in a server that has run for long, not in one burst.
        options = DURABLE | {"max_connections": "300", "max_wal_size": "4GB", "checkpoint_timeout": "30min"}
        self.postgres = embedded.start_postgres(
            cluster, port=self.postgres_port, log=self.log, options=options
        )
        self._children.append(self.postgres)
        self.start_valkey()
        with embedded.connect_when_ready(self.url("superuser", "postgres"), self._check) as connection:
            embedded.create_roles_and_database(connection, self.passwords)
            for name in (TEMPLATE, NAIVE, ROWS):
                embedded.create_database(connection, name)
            for name, wanted in DURABLE.items():
                (found,) = connection.execute(f"SHOW {name}").fetchone() or ("nothing",)
                if found != wanted:
                    raise RuntimeError(f"PostgreSQL runs with {name}={found}: figures would mean nothing.")
        self.manage("migrate", "--verbosity=0", DATABASE_ROLE="owner")

    def _check(self) -> None:
        if self.postgres.poll() is not None:
            raise NotUsable(f"PostgreSQL ended with code {self.postgres.returncode}. {self.log.read_text()}")

    def use_database(self, name: str) -> None:
        """Go on in a database of this name, migrated and empty."""
        with self.connect("postgres") as connection:
            embedded.create_database(connection, name, template=TEMPLATE)
        self.database = name

    def create(self, name: str) -> None:
        """An empty database beside ours."""
        with self.connect("postgres") as connection:
            embedded.create_database(connection, name)

    # Addresses

    def url(self, role: str, database: str | None = None) -> str:
        name = embedded.ROLES.get(role, embedded.SUPERUSER)
        return embedded.database_url(
            role=name,
            password=self.passwords[role],
            port=self.postgres_port,
            database=database or self.database,
        )

    def redis_url(self, number: int = 0) -> str:
        return embedded.valkey_url(port=self.valkey_port, password=self.passwords["valkey"], number=number)

    def environment(self) -> dict[str, str]:
        return os.environ | {
            "DATABASE_URL": self.url("app"),
            "DATABASE_OWNER_URL": self.url("owner"),
            "REDIS_URL": self.redis_url(),
            "SECRET_KEY": self.passwords["app"],
            "DATA_DIR": str(self.folder / "data"),
            processes.ENVIRONMENT: "1",
        }

    # Processes

    def start_valkey(self) -> None:
        password = self.passwords["valkey"]
        self.valkey = embedded.start_valkey(port=self.valkey_port, password=password, log=self.log)
        self._children.append(self.valkey)

    def start(self, arguments: list[str], **extra: str) -> subprocess.Popen[bytes]:
        """A program of this Python. It ends with this process, whatever happens."""
        process = spawn(
            [sys.executable, *arguments],
            log=self.log,
            death_signal=signal.SIGKILL,
            env=self.environment() | extra,
            cwd=ROOT,
        )
        self._children.append(process)
        return process

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Stop one process and what it started."""
        number = signal.SIGINT if process is getattr(self, "postgres", None) else signal.SIGTERM
        family = family_of(process)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)
            process.send_signal(number)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for orphan in psutil.wait_procs(family, timeout=2)[1]:
            orphan.kill()
        self._children.remove(process)

    def manage(self, *arguments: str, **extra: str) -> str:
        """What a management command prints."""
        argv = [sys.executable, "manage.py", *arguments]
        environment = self.environment() | extra
        done = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(arguments[:1])} failed: {done.stdout[-500:]}{done.stderr[-1500:]}")
        return done.stdout

    def token(self) -> str:
        made = self.manage("create_token", "--orchestrator", f"bench-{secrets.token_hex(4)}", "--json")
        return str(json.loads(made)["token"])

    # The product's programs

    @contextlib.contextmanager
    def web(self, **extra: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
        """The web process, ready: (port, process)."""
        port = embedded.free_port()
        arguments = programs.commands(host="127.0.0.1", port=port, threads=WEB_THREADS)["web"]
        process = self.start(arguments, PORT=str(port), LOG_LEVEL="WARNING", **extra)
        try:
            self.wait_for_answer(port, "/healthz", process)
            yield port, process
        finally:
            self.end(process)

    def wait_for_answer(self, port: int, path: str, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5):
                    return
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"A web process did not answer: {self.log.read_text()[-2000:]}")

    # The database

    def connect(self, database: str | None = None) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url("superuser", database), autocommit=True)

    def number(self, query: str) -> float:
        """The one number that a query gives."""
        with self.connect() as connection:
            (value,) = connection.execute(query.encode()).fetchone() or (0,)
        return float(value)


def family_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """A process and all its descendants, as they are now."""
    try:
        top = psutil.Process(process.pid)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def processor_seconds(process: subprocess.Popen[bytes]) -> float:
    """Processor time of a process and of its descendants, those that ended too."""
    seconds = 0.0
    for member in family_of(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = member.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds
