"""The machine that a run breaks: PostgreSQL, Valkey, two web servers, two workers, schedule and sealer.

All on loopback, all data in a folder of the run's own. Only processes started here are ever signalled. Call it from
the main thread alone: the kernel ties a child to the thread that started it.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import redis
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from reviewqueue import processes
from reviewqueue.up import embedded, programs, watchdog
from tools.chaos.nurseries import ROOT, Nursery

PEOPLE = {"ann": "operator", "bo": "operator", "sam": "senior_operator", "sue": "senior_operator"}
PASSWORD = "correct horse battery"  # noqa: S105 - of a database that lives for minutes
START_SECONDS = 120.0
# Durable as in production. Recovery syncs the file system once, instead of each of a thousand files.
POSTGRES = {"fsync": "on", "synchronous_commit": "on", "recovery_init_sync_method": "syncfs"}


@dataclass
class Program:
    """One program of the product. `pidfd` is open while the process lives or has just died."""

    name: str
    kind: str  # web | worker | beat | sealer
    port: int = 0
    pid: int = 0
    pidfd: int = -1
    armed: tuple[str, ...] = ()
    paused: bool = False

    @property
    def running(self) -> bool:
        return self.pidfd >= 0 and not select.select([self.pidfd], [], [], 0)[0]


@dataclass
class Machine:
    """Everything that runs. `start`, then break it, then `stop`."""

    folder: Path
    programs: dict[str, Program] = field(default_factory=dict)
    token: str = ""
    jwks: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.fault_log = self.folder / "points-hit"
        self.fault_log.touch(0o600)
        self.passwords = {name: secrets.token_urlsafe(18) for name in (*embedded.ROLES, "superuser")}
        self.valkey_password = secrets.token_urlsafe(18)
        self.postgres_port, self.valkey_port = embedded.free_port(), embedded.free_port()
        for name in ("web1", "web2"):
            self.programs[name] = Program(name, "web", port=embedded.free_port())
        for name in ("worker1", "worker2"):
            self.programs[name] = Program(name, "worker")
        self.programs["beat"] = Program("beat", "beat")
        self.programs["sealer"] = Program("sealer", "sealer")
        self.command = Program("command", "worker")  # a command of manage.py, one at a time
        self.nurseries: dict[str, Nursery] = {}
        self.postgres: subprocess.Popen[bytes] | None = None
        self.valkey: subprocess.Popen[bytes] | None = None
        self._watchdog = subprocess.Popen(
            [sys.executable, "-S", "-E", watchdog.__file__],
            stdin=subprocess.PIPE,
            text=True,
            cwd="/",
            start_new_session=True,
        )

    @property
    def ports(self) -> list[int]:
        return [program.port for program in self.programs.values() if program.kind == "web"]

    def url(self, role: str) -> str:
        name = embedded.ROLES.get(role, embedded.SUPERUSER)
        return embedded.database_url(role=name, password=self.passwords[role], port=self.postgres_port)

    def environment(self) -> dict[str, str]:
        """What the programs and commands of the product need. Leases and limits fit a run of minutes."""
        return {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "DATABASE_URL": self.url("app"),
            "DATABASE_OWNER_URL": self.url("owner"),
            "DATABASE_SEALER_URL": self.url("sealer"),
            "REDIS_URL": embedded.valkey_url(port=self.valkey_port, password=self.valkey_password),
            "SECRET_KEY": "of-one-run-" + self.passwords["app"],
            "DATA_DIR": str(self.folder),
            "TICKET_KEY_FILE": str(self.folder / "secrets" / "ticket-key.pem"),
            "PUBLIC_URL": f"http://127.0.0.1:{self.programs['web1'].port}",
            "CHECK_LEASE_SECONDS": "3",
            "WORKER_PROCESSES": "1",
            "APPROVALS_PER_MINUTE": "100000",
            "SIGN_INS_PER_MINUTE": "100000",
            "LOG_LEVEL": "WARNING",
            "FAULT": "",
            "FAULT_LOG": str(self.fault_log),
            processes.ENVIRONMENT: "1",
        }

    # Starting

    def start(self) -> None:
        """Servers, database, programs; returns when a web server answers."""
        environment = self.environment()
        self.nurseries = {
            kind: Nursery(
                kind, environment | programs.ENVIRONMENT.get(kind, {}), self.logs / f"nursery-{kind}.log"
            )
            for kind in ("web", "worker", "beat", "sealer")
        }
        for nursery in self.nurseries.values():
            self._watch(nursery.process.pid)
        embedded.initialise_postgres(
            self.folder / "pg", password=self.passwords["superuser"], log=self.logs / "postgres.log"
        )
        self.start_valkey()
        self.start_postgres()
        with embedded.connect_when_ready(
            self.url("superuser").replace("/reviewqueue", "/postgres"), _no_check
        ) as connection:
            embedded.create_roles_and_database(connection, self.passwords)
        self._prepare(environment)
        for nursery in self.nurseries.values():
            nursery.wait_until_ready()
        for name in self.programs:
            self.start_program(name)
        self.wait_for_port(self.ports[0])

    def _prepare(self, environment: Mapping[str, str]) -> None:
        found = subprocess.run(
            [sys.executable, "-m", "tools.chaos.prepare"],
            cwd=ROOT,
            env={**environment, "DATABASE_ROLE": "owner"},
            check=True,
            stdout=subprocess.PIPE,
        )
        made = json.loads(found.stdout)
        self.token, self.jwks = made["token"], made["jwks"]

    def wait_for_port(self, port: int, *, meanwhile: Callable[[], None] | None = None) -> None:
        """Until the web server there answers."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection.request("GET", "/healthz")
                if connection.getresponse().status == 200:
                    return
            connection.close()
            if meanwhile is not None:
                meanwhile()
            time.sleep(0.1)
        raise RuntimeError(f"port {port} did not answer within {START_SECONDS:.0f} s; logs: {self.logs}")

    def start_program(self, name: str, *, armed: tuple[str, ...] = ()) -> None:
        """Start a program that is not running, to die at the first of the `armed` points that it reaches."""
        program = self.programs[name]
        argv = programs.commands(host="127.0.0.1", port=program.port, threads=32)[program.kind]
        if program.kind == "sealer":  # by module, as a nursery runs it; manage.py does no more
            argv = ["-m", "django", *argv[1:]]
        self._fork(program, argv, armed)

    def run_command(self, *arguments: str, armed: tuple[str, ...] = ()) -> None:
        """Run a command of manage.py, in place of the one before."""
        self._fork(self.command, ["-m", "django", *arguments], armed)

    def _fork(self, program: Program, argv: list[str], armed: tuple[str, ...]) -> None:
        self._close(program)
        program.pid = self.nurseries[program.kind].fork(
            argv, {"FAULT": ",".join(armed)}, self.logs / f"{program.name}.log"
        )
        program.armed, program.paused = armed, False
        with contextlib.suppress(ProcessLookupError):  # dead already: tend() starts it again
            program.pidfd = os.pidfd_open(program.pid)
        self._watch(program.pid)

    def start_postgres(self) -> None:
        self.postgres = embedded.start_postgres(
            self.folder / "pg", port=self.postgres_port, log=self.logs / "postgres.log", options=POSTGRES
        )
        self._watch(self.postgres.pid)

    def start_valkey(self) -> None:
        self.valkey = embedded.start_valkey(
            port=self.valkey_port, password=self.valkey_password, log=self.logs / "valkey.log"
        )
        self._watch(self.valkey.pid)

    # Breaking

    def kill(self, name: str) -> None:
        """kill -9 of the program and of all that it started."""
        program = self.programs[name]
        self._signal(program.pid, signal.SIGKILL)
        if program.pidfd >= 0:
            select.select([program.pidfd], [], [], 10)
        program.paused = False

    def pause(self, name: str) -> None:
        self.programs[name].paused = True
        self._signal(self.programs[name].pid, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        self.programs[name].paused = False
        self._signal(self.programs[name].pid, signal.SIGCONT)

    def kill_valkey(self) -> None:
        if self.valkey is not None:
            self._forget(self.valkey.pid)
            self.valkey.kill()
            self.valkey.wait()
            self.valkey = None

    def pause_valkey(self) -> None:
        if self.valkey is not None:
            self.valkey.send_signal(signal.SIGSTOP)

    def resume_valkey(self) -> None:
        if self.valkey is not None:
            self.valkey.send_signal(signal.SIGCONT)

    def flush_valkey(self) -> bool:
        """FLUSHALL. False where Valkey is away itself."""
        try:
            url = embedded.valkey_url(port=self.valkey_port, password=self.valkey_password)
            with redis.Redis.from_url(url, socket_timeout=1, socket_connect_timeout=1) as client:
                client.flushall()
        except redis.RedisError:
            return False
        return True

    def stop_postgres_at_once(self) -> None:
        """What `pg_ctl stop -m immediate` does: no checkpoint, recovery at the next start."""
        if self.postgres is not None:
            self._forget(self.postgres.pid)
            self.postgres.send_signal(signal.SIGQUIT)
            self.postgres.wait()
            self.postgres = None

    def terminate_sessions(self) -> int:
        """End every database session of the product. Returns how many there were; 0 where PostgreSQL is away."""
        try:
            with psycopg.connect(self.url("superuser"), autocommit=True, connect_timeout=1) as connection:
                row = connection.execute(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                ).fetchone()
        except psycopg.OperationalError:
            return 0
        return int(row[0]) if row else 0

    def sealer_key(self) -> bytes:
        """The public key of the sealer, 32 bytes."""
        private = load_pem_private_key(
            (self.folder / "secrets" / "audit-key.pem").read_bytes(), password=None
        )
        return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def heads_file(self) -> str:
        """The heads that the sealer put outside of the database."""
        file = self.folder / "audit-heads.txt"
        return file.read_text() if file.exists() else ""

    def points_hit(self) -> list[str]:
        return self.fault_log.read_text().split()

    # Ending

    def stop(self) -> None:
        """End everything that was started here, the servers last."""
        for program in (*self.programs.values(), self.command):
            self._close(program)
        for nursery in self.nurseries.values():
            nursery.stop()
        self.kill_valkey()
        self.stop_postgres_at_once()
        if self._watchdog.stdin is not None:
            self._watchdog.stdin.close()
        self._watchdog.wait()

    def _signal(self, group: int, number: signal.Signals) -> None:
        if group:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, number)

    def _close(self, program: Program) -> None:
        if program.pid:
            self._signal(program.pid, signal.SIGKILL)  # what a dead main process may have left
            self._forget(program.pid)
        if program.pidfd >= 0:
            os.close(program.pidfd)
        program.pid, program.pidfd = 0, -1

    def _watch(self, group: int) -> None:
        self._tell_watchdog(f"+{group} 1")

    def _forget(self, group: int) -> None:
        self._tell_watchdog(f"-{group}")

    def _tell_watchdog(self, line: str) -> None:
        if self._watchdog.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.stdin.write(line + "\n")
                self._watchdog.stdin.flush()


def _no_check() -> None:
    """Nothing can be told of a PostgreSQL that only needs a moment."""
