"""The start, in the order that lets slow parts run side by side, and the one block that is printed at its end."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn
from urllib.parse import urlsplit

from reviewqueue import processes
from reviewqueue.up import embedded, programs
from reviewqueue.up.children import spawn
from reviewqueue.up.embedded import NotUsable, last_line
from reviewqueue.up.options import Options, WrongOption, read_options
from reviewqueue.up.state import ROOT, AlreadyRunning, State, migrations_fingerprint, static_fingerprint
from reviewqueue.up.supervisor import Child, KeepsCrashing, Supervisor, say

READY_SECONDS = 90.0
STATIC_STAMP = ROOT / "staticfiles" / ".fingerprint"


class StopRequested(BaseException):
    """A signal asks us to stop. Not an Exception: nothing on the way may swallow it."""


def main(arguments: Sequence[str]) -> int:
    """Run until told to stop. Returns the exit code that reviewqueue.up documents."""
    try:
        options = read_options(arguments, os.environ)
    except WrongOption as error:
        say(str(error))
        return 2
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _request_stop)
    if options.with_parent:
        processes.set_parent_death_signal(signal.SIGTERM, os.getppid())
    state = State(options.data_dir)
    state.prepare()
    try:
        lock = state.lock(f"process {os.getpid()}, {options.address}")
    except AlreadyRunning as error:
        say(
            f"Already running in {options.data_dir} ({error}). Stop it there, or choose another DATA_DIR and PORT."
        )
        return 3
    with lock:
        if not _port_is_free(options):
            say(
                f"Port {options.port} is taken by another program. Choose one, for example: PORT=8001 make run"
            )
            return 4
        return _run(options, state)


def _run(options: Options, state: State) -> int:
    supervisor = Supervisor()
    try:
        Start(options, state, supervisor).run()
        while True:
            supervisor.check()
            time.sleep(0.2)
    except StopRequested:
        say("Stopping.")
        return 0
    except KeepsCrashing as error:
        say(str(error))
        return 6
    except NotUsable as error:
        say(str(error))
        return 7
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _stop_at_once)
        supervisor.stop()


def _request_stop(number: int, frame: FrameType | None) -> NoReturn:
    raise StopRequested


def _stop_at_once(number: int, frame: FrameType | None) -> None:
    # Asked again while stopping. The kernel and the watchdog end what is left.
    if number == signal.SIGINT:
        os._exit(0)


def _port_is_free(options: Options) -> bool:
    # A start right after a kill -9 may still meet the old web process; it has a second to go.
    for _ in range(15):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((options.host, options.port))
            except OSError:
                time.sleep(0.1)
            else:
                return True
    return False


class Start:
    """One start. `run` returns when everything is ready and the block is printed."""

    def __init__(self, options: Options, state: State, supervisor: Supervisor) -> None:
        self.options, self.state, self.supervisor = options, state, supervisor
        self.passwords = state.passwords()
        self.python = sys.executable
        # Programs find the servers in servers.json; DATABASE_URL and REDIS_URL of the caller pass through.
        self.environment = os.environ | {
            "DATA_DIR": str(options.data_dir),
            "PORT": str(options.port),
            "PYTHONUNBUFFERED": "1",
            processes.ENVIRONMENT: "1",
        }

    def run(self) -> None:
        began = time.monotonic()
        static = self._collect_static()
        fresh = self._start_servers()
        if fresh or self.state.read("prepared.json") != self._prepared():
            self._once(["manage.py", "migrate", "--verbosity=1"], "migrate", {"DATABASE_ROLE": "owner"})
            self.state.write("prepared.json", self._prepared())
        if static is not None:
            self._finish(static, "collectstatic")
            STATIC_STAMP.write_text(static_fingerprint())
        self._make_ticket_key()
        self._start_programs("web", "worker")
        self._load_demo_data()
        self._wait_until_ready()
        self._start_programs("beat", "sealer")  # its imports would only slow down those that people wait for
        self._print_block(time.monotonic() - began)

    # Servers

    def _start_servers(self) -> bool:
        """Start what the environment does not name. True when the database is new."""
        valkey_port, postgres_port = embedded.free_port(), embedded.free_port()
        if not self.options.redis_url:
            self._add_valkey(valkey_port)
        folder = embedded.postgres_folder(self.options.data_dir)
        fresh = not self.options.database_url and self._make_database_folder(folder)
        self.state.write_servers(self.passwords, postgres_port=postgres_port, valkey_port=valkey_port)
        if not self.options.database_url:
            self._add_postgres(folder, postgres_port)
        return fresh

    def _add_valkey(self, port: int) -> None:
        log, password = self.state.log("valkey"), self.passwords["valkey"]
        start = lambda: embedded.start_valkey(port=port, password=password, log=log)  # noqa: E731
        self.supervisor.add(Child("Valkey", start, log))

    def _make_database_folder(self, folder: Path) -> bool:
        known = bool(self.state.read("servers.json"))
        if folder.exists() and not known:
            if folder.parent == self.options.data_dir:
                raise NotUsable(
                    f"{folder} is there, but servers.json with its passwords is gone. See `make reset`."
                )
            shutil.rmtree(folder)  # its DATA_DIR was deleted, and nobody knows its passwords any more
        if folder.exists():
            return False
        (self.options.data_dir / "demo.json").unlink(missing_ok=True)
        # Written before initdb: a start that is cut short must find the passwords of what it left.
        self.state.write_servers(self.passwords, postgres_port=1, valkey_port=1)
        log = self.state.log("postgres")
        embedded.initialise_postgres(folder, password=self.passwords["superuser"], log=log)
        return True

    def _add_postgres(self, folder: Path, port: int) -> None:
        log = self.state.log("postgres")
        start = lambda: embedded.start_postgres(folder, port=port, log=log)  # noqa: E731
        child = Child("PostgreSQL", start, log, stop_signal=signal.SIGINT, seconds=10)
        self.supervisor.add(child)
        password = self.passwords["superuser"]
        url = embedded.database_url(
            role=embedded.SUPERUSER, password=password, port=port, database=embedded.SUPERUSER
        )
        with embedded.connect_when_ready(url, self.supervisor.check) as connection:
            embedded.create_roles_and_database(connection, self.passwords)

    # One-off commands

    def _spawn(
        self, arguments: Sequence[str], log: str, extra: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        process = spawn(
            [self.python, *arguments],
            log=self.state.log(log),
            death_signal=signal.SIGKILL,
            env=self.environment | (extra or {}),
            cwd=ROOT,
        )
        self.supervisor.one_off.append(process)
        return process

    def _once(self, arguments: Sequence[str], log: str, extra: dict[str, str] | None = None) -> None:
        self._finish(self._spawn(arguments, log, extra), log)

    def _finish(self, process: subprocess.Popen[bytes], log: str) -> None:
        while process.poll() is None:
            self.supervisor.check()
            time.sleep(0.05)
        self.supervisor.one_off.remove(process)
        if process.returncode != 0:
            file = self.state.log(log)
            raise NotUsable(f"{log} failed with code {process.returncode}: {last_line(file)} Its log: {file}")

    def _collect_static(self) -> subprocess.Popen[bytes] | None:
        if STATIC_STAMP.exists() and STATIC_STAMP.read_text() == static_fingerprint():
            return None
        # Files that installed packages bring and no page of ours asks for.
        unused = ["--ignore", "rest_framework", "--ignore", "django_htmx", "--ignore", "redoc*"]
        command = ["manage.py", "collectstatic", "--no-input", "--clear", "--verbosity=0", *unused]
        return self._spawn(command, "collectstatic")

    def _prepared(self) -> dict[str, str]:
        where = "embedded"
        if self.options.database_url:
            parts = urlsplit(self.options.database_url)
            where = hashlib.sha256(f"{parts.hostname}:{parts.port}{parts.path}".encode()).hexdigest()
        return {"migrations": migrations_fingerprint(), "database": where}

    def _load_demo_data(self) -> None:
        if not self.options.demo_data:
            return
        if not self.state.read("demo.json"):
            self._once(["manage.py", "seed_demo"], "seed_demo")
        demo = self.state.read("demo.json")
        if demo.get("base_url") != self.options.address:
            self.state.write("demo.json", demo | {"base_url": self.options.address})

    # Programs

    def _make_ticket_key(self) -> None:
        """The web process reads the key when it starts, so it has to be there before."""
        path = self.options.data_dir / "secrets" / "ticket-key.pem"
        if not path.exists() and not os.environ.get("TICKET_KEY_FILE"):
            from reviewqueue.services.keys import create_key  # cryptography takes a moment to load

            create_key(path=path)

    def _start_programs(self, *names: str) -> None:
        options = self.options
        commands = programs.commands(host=options.host, port=options.port, threads=options.web_threads)
        for name in names:
            self._add_program(name, commands[name])

    def _add_program(self, name: str, arguments: Sequence[str]) -> None:
        log = self.state.log(name)
        environment = self.environment | programs.ENVIRONMENT.get(name, {})

        def start() -> subprocess.Popen[bytes]:
            argv = [self.python, *arguments]
            return spawn(argv, log=log, death_signal=signal.SIGTERM, env=environment, cwd=ROOT)

        self.supervisor.add(Child(name, start, log, seconds=2.5))

    def _wait_until_ready(self) -> None:
        deadline, answer = time.monotonic() + READY_SECONDS, "no answer"
        while time.monotonic() < deadline:
            self.supervisor.check()
            try:
                with urllib.request.urlopen(f"{self.options.address}/readyz", timeout=5):  # noqa: S310 - http, ours
                    return
            except urllib.error.HTTPError as error:
                answer = f"{error.code} {error.read(400).decode(errors='replace')}"
            except OSError as error:
                answer = str(error)
            time.sleep(0.1)
        logs = self.state.data_dir / "logs"
        raise NotUsable(f"Not ready after {READY_SECONDS:.0f} s; /readyz says: {answer}. Logs: {logs}")

    def _print_block(self, seconds: float) -> None:
        demo, address = self.state.read("demo.json"), self.options.address
        lines = ["", f"Review Queue is ready after {seconds:.1f} s: {address}/", ""]
        for user in demo.get("users", []):
            role = str(user.get("role", "")).replace("_", " ")
            lines.append(f"  sign in   {user.get('username', ''):<12} {user.get('password', ''):<24} {role}")
        if token := demo.get("token"):
            body = json.dumps({"format": "opaque", "session_id": "hello", "payload": {"hello": "world"}})
            lines += [
                f"  token     {token}",
                "",
                "Post a first checkpoint, then look at it in the queue:",
                "",
            ]
            lines += [f"  curl -sS {address}/api/v1/checkpoints -H 'Prefer: wait=5' \\"]
            lines += [f"    -H 'Authorization: Bearer {token}' -H 'Content-Type: application/json' \\"]
            lines += [f"    -d '{body}'"]
        lines += ["", f"Data and logs: {self.options.data_dir}. Ctrl-C stops everything.", ""]
        say("\n".join(lines))
