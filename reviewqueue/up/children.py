"""Starting a server as a child that cannot outlive us."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reviewqueue.processes import set_parent_death_signal

#: PostgreSQL refuses to run as root, and nothing else here needs to: `nobody` on every Linux.
UNPRIVILEGED = 65_534


def is_root() -> bool:
    return os.geteuid() == 0


def spawn(
    argv: Sequence[str],
    *,
    log: Path,
    death_signal: signal.Signals,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    cwd: Path = Path("/"),
    unprivileged: bool = False,
) -> subprocess.Popen[bytes]:
    """Start `argv` in a process group of its own, output appended to `log`.

    The kernel sends `death_signal` when this process dies. `unprivileged` gives up root where we have it.
    Call it from the main thread: the kernel watches the thread that forked.
    """
    give_up_root = unprivileged and is_root()
    with log.open("ab") as output:
        child: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - our own argument lists
            list(argv),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env=dict(os.environ if env is None else env),
            process_group=0,  # a Ctrl-C at the terminal reaches us alone, and we stop them in order
            preexec_fn=_tied_to(os.getpid(), death_signal),  # noqa: PLW1509 - one prctl call, library already loaded
            user=UNPRIVILEGED if give_up_root else None,
            group=UNPRIVILEGED if give_up_root else None,
            extra_groups=[] if give_up_root else None,
        )
    if stdin is not None and child.stdin is not None:
        child.stdin.write(stdin)
        child.stdin.close()
    return child


def _tied_to(parent: int, number: signal.Signals) -> Callable[[], None]:
    # Popen changes the user before it calls this, and a later change of user would clear the flag.
    return lambda: set_parent_death_signal(number, parent)
