"""Named crash points, for tests and `make chaos` only.

`FAULT=name` in the environment makes the process die at that point as by `kill -9`. Armed by nothing else.
"""

from __future__ import annotations

import os

_ARMED = frozenset(filter(None, os.environ.get("FAULT", "").split(",")))


def fault(name: str) -> None:
    """Die here, without clean-up, if this point is armed."""
    if name in _ARMED:
        os._exit(137)


def crash_on(checkpoint_id: str) -> None:
    """Die when a checkpoint whose id starts with `FAULT_CHECK_PREFIX` is judged: a document that kills."""
    prefix = os.environ.get("FAULT_CHECK_PREFIX")
    if prefix and checkpoint_id.startswith(prefix):
        os._exit(139)
