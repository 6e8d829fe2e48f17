"""Ringing the drain after ingest, without ever being in its way.

`ring()` only wakes a daemon thread. The thread sets a short-lived flag in Valkey, so that many posts ring once,
and sends one Celery message. Whatever fails is counted and forgotten: the sweep rings the same bell every second.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time

import redis
import structlog
from celery import Celery
from django.conf import settings
from kombu import Connection

from checkpoints.faults import fault

log = structlog.get_logger("checkpoints.doorbell")

FLAG = "reviewqueue:bell"
FLAG_SECONDS = 2
TIMEOUT_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 5.0

failures = 0  # for metrics: bells that nobody heard


class _Ringer:
    """One daemon thread a process. Started on the first ring, and anew after a fork."""

    def __init__(self) -> None:
        self.wanted = threading.Event()
        self.pid = os.getpid()
        self.connection: Connection | None = None
        # Its own application object: the project's is current only in the thread that imported it, if any did.
        self.app = Celery("doorbell", set_as_current=False)
        self.app.config_from_object("django.conf:settings", namespace="CELERY")
        self.client = redis.Redis.from_url(
            settings.REDIS_URL,
            socket_timeout=TIMEOUT_SECONDS,
            socket_connect_timeout=TIMEOUT_SECONDS,
            retry=None,
        )
        threading.Thread(target=self._run, name="doorbell", daemon=True).start()

    def _run(self) -> None:
        pause = 0.0
        while True:
            self.wanted.wait()
            self.wanted.clear()
            try:
                self._ring()
                pause = 0.0
            except Exception as error:
                global failures  # noqa: PLW0603 - CONFIG: one counter a process
                failures += 1
                self._forget_connection()
                pause = min(LONGEST_PAUSE_SECONDS, pause * 2 or 0.5)
                log.warning("doorbell.unheard", error=type(error).__name__, pause_seconds=pause)
                time.sleep(pause)  # the breaker: rings meanwhile coalesce into one

    def _ring(self) -> None:
        if not self.client.set(FLAG, "1", nx=True, ex=FLAG_SECONDS):
            return
        fault("doorbell.after_flag")
        options = {**settings.CELERY_BROKER_TRANSPORT_OPTIONS, "socket_timeout": TIMEOUT_SECONDS}
        if self.connection is None:
            self.connection = self.app.connection_for_write(
                connect_timeout=TIMEOUT_SECONDS, transport_options=options
            )
        self.app.send_task(
            "checkpoints.drain", connection=self.connection, retry=False, ignore_result=True, expires=30
        )

    def _forget_connection(self) -> None:
        if self.connection is not None:
            with contextlib.suppress(Exception):
                self.connection.release()
            self.connection = None


_ringer: _Ringer | None = None
_lock = threading.Lock()


def ring() -> None:
    """Say that something is due. Returns at once, whatever state the broker is in."""
    global _ringer  # noqa: PLW0603 - CONFIG: one thread a process
    if _ringer is None or _ringer.pid != os.getpid():
        with _lock:
            if _ringer is None or _ringer.pid != os.getpid():
                _ringer = _Ringer()
    _ringer.wanted.set()


def answered() -> None:
    """A drain starts: the next post rings anew."""
    with contextlib.suppress(redis.RedisError):
        _client().delete(FLAG)


_client_of: tuple[int, redis.Redis] | None = None


def _client() -> redis.Redis:
    global _client_of  # noqa: PLW0603 - CONFIG: one client a process
    if _client_of is None or _client_of[0] != os.getpid():
        _client_of = (
            os.getpid(),
            redis.Redis.from_url(
                settings.REDIS_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
            ),
        )
    return _client_of[1]
