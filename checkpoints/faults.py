"""Named crash points, for tests and `make chaos` only. Armed by nothing but the environment of a process.

FAULT=name,name        the process dies at these points as by `kill -9`
FAULT_LOG=file         gets the name of the point, one line, just before the death
FAULT_CHECK_PREFIX=x   the check of a checkpoint whose id starts with x kills its process
"""

from __future__ import annotations

import contextlib
import os


def fault(name: str) -> None:
    """Die here, without clean-up, if this point is armed."""
    armed = os.environ.get("FAULT")
    if armed and name in armed.split(","):
        _note(name)
        os._exit(137)


def _note(name: str) -> None:
    """One write to a file opened for appending: two dying processes cannot mix their lines."""
    path = os.environ.get("FAULT_LOG")
    if not path:
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, f"{name}\n".encode())


def crash_on(checkpoint_id: str) -> None:
    """Die when a checkpoint whose id starts with `FAULT_CHECK_PREFIX` is judged: a document that kills."""
    prefix = os.environ.get("FAULT_CHECK_PREFIX")
    if prefix and checkpoint_id.startswith(prefix):
        os._exit(139)
