"""The sealer's process: its key, its rounds, and the heads it puts outside of the database."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Final

import structlog
from django.conf import settings
from django.db import DatabaseError, connection

from checkpoints.services import sealing
from checkpoints.services.sealing import Sealed
from checkpoints.transparency import HeadKey, read_heads
from reviewqueue.services.keys import create_key

log = structlog.get_logger()

ROUND_SECONDS: Final = 2.0
PUBLISH_SECONDS: Final = 60.0


def open_key(path: Path) -> HeadKey:
    """The sealer's key, made where there is none. Raises OSError or ValueError (a key that others may read, too)."""
    create_key(path=path)
    mode = path.stat().st_mode & 0o777
    if mode & 0o077:
        raise ValueError(f"it has mode {mode:o}; only its owner may read it (0600)")
    return HeadKey.read(path, origin=settings.AUDIT_ORIGIN)


class Sealer:
    """Seals, and appends the newest head to a file that the database's keeper should not be able to change."""

    def __init__(self, key: HeadKey, heads: Path) -> None:
        self.key, self.heads = key, heads
        self._published = _last_size(heads)
        self._next = 0.0

    def once(self) -> Sealed | None:
        """Seal everything that is complete and publish the head. None: another sealer is at work."""
        found = self._seal_all()
        if found is not None:
            self._publish()
        return found

    def watch(self, stop: threading.Event) -> None:
        """Rounds until `stop` is set. A database that is away is tried again in the next round."""
        while not stop.is_set():
            try:
                if self._seal_all() is not None and time.monotonic() >= self._next:
                    self._publish()
                    self._next = time.monotonic() + PUBLISH_SECONDS
            except (DatabaseError, sealing.TreeIsDamaged) as error:
                log.error("audit.not_sealed", error=str(error).strip())
                connection.close()
            stop.wait(ROUND_SECONDS)
        try:
            self._publish()
        except DatabaseError as error:
            log.error("audit.not_published", error=str(error).strip())

    def _seal_all(self) -> Sealed | None:
        entries = 0
        while (found := sealing.seal(key=self.key)) is not None:
            entries += found.entries
            if not found.more:
                return Sealed(entries, found.size, more=False)
        return None

    def _publish(self) -> None:
        head = sealing.newest()
        if head is None or head.size <= self._published:
            return
        with self.heads.open("a", encoding="utf-8") as file:
            file.write(f"{head.note}\n")
            file.flush()
            os.fsync(file.fileno())
        self._published = head.size


def _last_size(heads: Path) -> int:
    try:
        return max((signed.head.size for signed in read_heads(heads.read_text(encoding="utf-8"))), default=0)
    except FileNotFoundError:
        return 0
    except ValueError as error:
        # A line that was cut short by a crash must not stop the sealing; verify_audit names it.
        log.error("audit.heads_unreadable", file=str(heads), error=str(error))
        return 0
