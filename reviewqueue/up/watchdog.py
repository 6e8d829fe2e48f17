"""The last one standing: ends the servers when the supervisor died without doing so.

The kernel already tells each direct child of a dead supervisor to stop; this program ends what does not stop in
time and what those children started. It reads its standard input, a pipe that only the supervisor holds:
`+GROUP SECONDS` names a process group and its time to stop cleanly, `-GROUP` forgets one. End of file means that
the supervisor is gone.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterable


def groups_left(lines: Iterable[str]) -> dict[int, float]:
    """The process groups that still run when `lines` end, each with its seconds."""
    groups: dict[int, float] = {}
    for line in lines:
        if line.startswith("+"):
            group, seconds = line[1:].split()
            groups[int(group)] = float(seconds)
        else:
            groups.pop(int(line[1:]), None)
    return groups


def end(groups: dict[int, float]) -> None:
    start = time.monotonic()
    for group, seconds in sorted(groups.items(), key=lambda item: item[1]):
        while _exists(group):
            if time.monotonic() - start > seconds:
                os.killpg(group, signal.SIGKILL)
                break
            time.sleep(0.05)


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    end(groups_left(sys.stdin))
