"""Waiting for a handoff to change, without holding a database connection meanwhile.

One thread a process listens on the channel that `services.transition` notifies and wakes the waiters of the
named handoffs. While it has no connection, waiters look for themselves once a second.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final

import psycopg
import structlog
from django.conf import settings
from django.db import connection, connections

from checkpoints.errors import Unavailable
from checkpoints.models import CHANNEL

log = structlog.get_logger("checkpoints.waiting")

LOOK_WHEN_DEAF_SECONDS: Final = 1.0
LOOK_ANYWAY_SECONDS: Final = 10.0
RECONNECT_SECONDS: Final = 0.5
RETRY_AFTER_SECONDS: Final = 1


class WaitersFull(Unavailable):
    """As many requests wait as this process lets wait."""

    slug = "too-many-waiters"


class Listener:
    """The waiters of one process and the thread that wakes them."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.hears = threading.Event()  # set while the connection listens
        self._lock = threading.Lock()
        self._waiters: dict[str, list[threading.Event]] = defaultdict(list)
        self._count = 0
        self._thread: threading.Thread | None = None

    @property
    def count(self) -> int:
        """How many wait now."""
        return self._count

    @contextlib.contextmanager
    def registered(self, key: str) -> Iterator[threading.Event]:
        """An event that is set whenever `key` may have changed. Raises WaitersFull."""
        event = threading.Event()
        with self._lock:
            if self._count >= settings.MAX_WAITERS:
                raise WaitersFull(
                    f"{self._count} requests wait already. Repeat the request without waiting, or later.",
                    retry_after=RETRY_AFTER_SECONDS,
                )
            self._count += 1
            self._waiters[key].append(event)
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen_for_ever, name="waiting", daemon=True)
                self._thread.start()
        try:
            yield event
        finally:
            with self._lock:
                self._count -= 1
                self._waiters[key].remove(event)
                if not self._waiters[key]:
                    del self._waiters[key]

    def wake(self, keys: str) -> None:
        """Wake the waiters of these handoffs (ids with commas between them)."""
        with self._lock:
            for key in keys.split(","):
                for event in self._waiters.get(key, ()):
                    event.set()

    def wake_all(self) -> None:
        with self._lock:
            for events in self._waiters.values():
                for event in events:
                    event.set()

    def _listen_for_ever(self) -> None:
        said = False  # one line an outage, not one a try
        while True:
            try:
                self._listen()
            except Exception as error:
                said = said and not self.hears.is_set()
                if not said:
                    log.warning("waiting.deaf", error=type(error).__name__)
                said = True
            self.hears.clear()
            self.wake_all()  # whoever waits must begin to look for itself
            time.sleep(RECONNECT_SECONDS)

    def _listen(self) -> None:
        with psycopg.connect(**_connection_parameters(), autocommit=True) as own:
            own.execute(f"LISTEN {CHANNEL}")
            self.hears.set()
            self.wake_all()  # something may have been missed before this moment
            for notification in own.notifies():
                self.wake(notification.payload)


def _connection_parameters() -> dict[str, Any]:
    parameters: dict[str, Any] = connections["default"].get_connection_params()
    parameters = {
        name: value
        for name, value in parameters.items()
        if name not in ("pool", "cursor_factory", "context", "server_side_binding", "prepare_threshold")
    }
    # A dead peer must be noticed, and an idle listener is no fault.
    return parameters | {
        "keepalives": 1,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
    }


_listener = Listener()


def listener() -> Listener:
    """This process's listener: a fork gets its own."""
    global _listener  # noqa: PLW0603 - CONFIG: one a process
    if _listener.pid != os.getpid():
        _listener = Listener()
    return _listener


def until[Value](look: Callable[[], Value | None], *, key: str, seconds: float) -> Value | None:
    """What `look` returns as soon as it is not None; None when the time is over.

    Registers first, looks, gives the database connection back, then waits: a change between the look and the wait
    is heard. Raises WaitersFull.
    """
    deadline = time.monotonic() + seconds
    ears = listener()
    with ears.registered(key) as event:
        while True:
            event.clear()
            found = look()
            remaining = deadline - time.monotonic()
            if found is not None or remaining <= 0:
                return found
            connection.close()
            longest = LOOK_ANYWAY_SECONDS if ears.hears.is_set() else LOOK_WHEN_DEAF_SECONDS
            event.wait(min(remaining, longest))
