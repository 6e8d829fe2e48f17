"""Threads that store at the same time share one commit.

The first to come leads: it writes what waits and commits once for all. Those who come meanwhile wait for the next
commit, which the first of them leads. Nobody waits longer than for the commit under way and the next one, and a
thread that is alone waits for nobody.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence


class _Entry[Item, Result]:
    """What one thread wants to store. Its gate opens when it was stored, or when it is to lead."""

    __slots__ = ("alone", "gate", "item", "result", "settled")

    def __init__(self, item: Item) -> None:
        self.item = item
        self.result: Result | None = None
        self.settled = False
        self.alone = True  # until a common commit succeeds
        self.gate = threading.Lock()
        self.gate.acquire()


class GroupCommit[Item, Result]:
    """`write` commits up to `most` items at once and returns a result for each, in order."""

    def __init__(self, write: Callable[[Sequence[Item]], Sequence[Result]], *, most: int) -> None:
        self._write, self._most = write, most
        self._mutex = threading.Lock()
        self._waiting: deque[_Entry[Item, Result]] = deque()
        self._led = False

    def submit(self, item: Item) -> Result:
        """Store one item, with others or alone. Raises what `write` raises for it alone."""
        entry = _Entry[Item, Result](item)
        with self._mutex:
            leads = not self._led
            if leads:
                self._led = True
            else:
                self._waiting.append(entry)
        if not leads:
            entry.gate.acquire()
        if not entry.settled:
            self._lead(entry)
        if entry.alone or entry.result is None:
            # Another's fault, or none: what failed together is tried again on its own.
            return self._write([item])[0]
        return entry.result

    def _lead(self, own: _Entry[Item, Result]) -> None:
        with self._mutex:
            others = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most - 1))]
        group = [own, *others]
        try:
            results = self._write([entry.item for entry in group])
            for entry, result in zip(group, results, strict=True):
                entry.result, entry.alone = result, False
        except Exception:
            if not others:
                raise
        finally:
            self._hand_over()
            for entry in others:
                entry.settled = True
                entry.gate.release()

    def _hand_over(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().gate.release()
            else:
                self._led = False
