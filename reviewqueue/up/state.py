"""What `make run` keeps in DATA_DIR, and what it remembers between two starts.

lock            held while it runs; holds the process id and the address
servers.json    URLs and passwords of the servers, read by manage.py, web and workers (0600)
demo.json       logins and token of the demo data (0600)
prepared.json   fingerprint of the migrations that the database has
logs/           one file per process
secrets/        keys (0700)
pg/             the database (for root possibly outside, see docs/running.md)
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from reviewqueue.up import embedded

ROOT = Path(__file__).resolve().parent.parent.parent

#: A log that is larger at a start is put aside, replacing the one put aside before.
LOG_BYTES = 20 << 20


class AlreadyRunning(Exception):
    """Another supervisor holds this DATA_DIR; the text is what its lock file says."""


@dataclass(frozen=True)
class State:
    data_dir: Path

    def prepare(self) -> None:
        """Create the folders. Others may pass through DATA_DIR (an unprivileged PostgreSQL must), not list it."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        self.data_dir.chmod(0o711)
        for name in ("logs", "secrets"):
            (self.data_dir / name).mkdir(mode=0o700, exist_ok=True)
        for log in (self.data_dir / "logs").glob("*.log"):
            if log.stat().st_size > LOG_BYTES:
                log.replace(log.with_suffix(".old"))

    def log(self, name: str) -> Path:
        return self.data_dir / "logs" / f"{name}.log"

    def lock(self, text: str) -> IO[str]:
        """Hold DATA_DIR until the returned file is closed. Raises AlreadyRunning."""
        file = (self.data_dir / "lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            found = file.read().strip()
            file.close()
            raise AlreadyRunning(found) from None
        file.truncate(0)
        file.write(text)
        file.flush()
        return file

    def read(self, name: str) -> dict[str, Any]:
        """A JSON file of ours; empty when it is missing or broken."""
        try:
            found = json.loads((self.data_dir / name).read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def write(self, name: str, value: dict[str, Any]) -> None:
        """Replace a file at once, readable by its owner only."""
        draft = self.data_dir / f".{name}.draft"
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(value, file, indent=2)
        draft.replace(self.data_dir / name)

    def passwords(self) -> dict[str, str]:
        """Those of the last start, else new ones."""
        found = self.read("servers.json").get("passwords", {})
        names = (*embedded.ROLES, "superuser", "valkey", "secret_key")
        return {name: found.get(name) or secrets.token_urlsafe(32) for name in names}

    def write_servers(self, passwords: dict[str, str], *, postgres_port: int, valkey_port: int) -> None:
        urls = {
            role: embedded.database_url(role=name, password=passwords[role], port=postgres_port)
            for role, name in embedded.ROLES.items()
        }
        redis_url = embedded.valkey_url(port=valkey_port, password=passwords["valkey"])
        value = {"database_urls": urls, "redis_url": redis_url, "secret_key": passwords["secret_key"]}
        self.write("servers.json", value | {"passwords": passwords})


def migrations_fingerprint() -> str:
    """Changes with any migration file of ours and with any installed package."""
    files = [*ROOT.glob("checkpoints/migrations/*.py"), *ROOT.glob("reviewqueue/migrations/*.py")]
    return _fingerprint([*files, ROOT / "requirements" / "run.txt"])


def static_fingerprint() -> str:
    """Changes with any static file of ours and with any installed package."""
    files = [path for path in ROOT.glob("static/**/*") if path.is_file()]
    return _fingerprint([*files, ROOT / "requirements" / "run.txt"])


def _fingerprint(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.exists():
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
