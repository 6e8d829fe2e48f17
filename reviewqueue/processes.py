"""How a process ends with the one that started it. Linux only; elsewhere these do nothing."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
# Loaded here, not between fork and exec, where importing is not safe.
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None

#: Set by the supervisor for its children: each of their own children ends with its parent as well.
ENVIRONMENT = "REVIEWQUEUE_DIE_WITH_PARENT"


def set_parent_death_signal(number: signal.Signals, parent: int | None = None) -> None:
    """Have the kernel send `number` to this process when its parent dies.

    `parent` is the process id of the parent as the parent knew it: when it is gone already, this process ends now,
    because the kernel signals only deaths that come after the call.
    """
    if _LIBC is None:
        return
    _LIBC.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), number)


def die_with_parent() -> None:
    """For processes that a supervised server forks: web workers and Celery's pool."""
    if os.environ.get(ENVIRONMENT):
        set_parent_death_signal(signal.SIGKILL, os.getppid())
