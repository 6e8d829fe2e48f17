"""A worker that no longer takes work ends itself, so that whoever supervises it starts it again.

Celery's worker can meet a lost broker in the middle of an acknowledgement. It logs "Couldn't ack", counts the message
as unacknowledged for ever, asks for no other, and so never notices that the connection is gone: it neither reconnects
nor ends. What is seen from outside is a queue with messages in it and a worker that takes none.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

import billiard
import redis
import structlog

log = structlog.get_logger("reviewqueue.listening")

# Three ends within a minute would make the supervisor give up; this long, they cannot happen.
PATIENCE_SECONDS = 20.0
LOOK_SECONDS = 1.0
TIMEOUT_SECONDS = 2.0
EXIT_CODE = 70


class Listening:
    """Judges from outside of the event loop whether it still takes work.

    `taken` counts the messages taken so far. While all processes are `busy` they may be so for `longest_task`
    seconds more before the silence counts. Not for several threads.
    """

    def __init__(
        self,
        *,
        broker: redis.Redis,
        queue: str,
        taken: Callable[[], int],
        busy: Callable[[], bool],
        longest_task: float,
    ) -> None:
        self._broker, self._queue, self._taken, self._busy = broker, queue, taken, busy
        self._longest_task = longest_task
        self._seen = -1
        self._since: float | None = None

    def is_deaf(self, now: float) -> bool:
        """Look once, at `now` (monotonic seconds). A broker that is away proves nothing: the wait starts anew."""
        taken, waiting = self._taken(), self._waiting()
        if not waiting or taken != self._seen:
            self._seen, self._since = taken, None
            return False
        if self._since is None:
            self._since = now
        return now - self._since >= PATIENCE_SECONDS + (self._longest_task if self._busy() else 0)

    def _waiting(self) -> int:
        try:
            return self._broker.llen(self._queue)
        except redis.RedisError:
            return 0


def watch(listening: Listening) -> None:
    """Look every second, in a daemon thread; end this process and its pool when it is deaf."""

    def run() -> None:
        while not listening.is_deaf(time.monotonic()):
            time.sleep(LOOK_SECONDS)
        log.critical("worker.deaf", exit_code=EXIT_CODE)
        for process in billiard.active_children():
            process.terminate()
        os._exit(EXIT_CODE)

    threading.Thread(target=run, name="listening", daemon=True).start()
