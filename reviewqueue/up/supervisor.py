"""Keeps the processes running: restarts what crashes, stops all in order, leaves nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from reviewqueue.up import watchdog

CRASHES_ALLOWED = 3
CRASH_WINDOW_SECONDS = 60.0
BACK_OFF_SECONDS = (0.2, 1.0, 3.0)


class KeepsCrashing(Exception):
    """A process ended three times within a minute; the text is one plain line."""


def say(text: str) -> None:
    """One plain line. A terminal that went away must not stop us from stopping the rest."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


@dataclass
class Child:
    """One supervised process. `start` begins it; `seconds` is its time to stop cleanly."""

    name: str
    start: Callable[[], subprocess.Popen[bytes]]
    log: Path
    stop_signal: signal.Signals = signal.SIGTERM
    seconds: float = 3.0
    process: subprocess.Popen[bytes] | None = None
    crashes: list[float] = field(default_factory=list)
    start_again_at: float | None = None


class Supervisor:
    """Children in the order in which they were added; `stop` goes through them backwards."""

    def __init__(self) -> None:
        self.children: list[Child] = []
        self.one_off: list[subprocess.Popen[bytes]] = []  # commands that end by themselves
        self._watchdog = self._start_watchdog()

    # Starting

    def add(self, child: Child) -> Child:
        self.children.append(child)
        self._start(child)
        return child

    def _start(self, child: Child) -> None:
        child.process = child.start()
        child.start_again_at = None
        self._tell_watchdog(f"+{child.process.pid} {self._grace(child)}")

    @staticmethod
    def _grace(child: Child) -> float:
        # After our death there is no order to keep and only one clean stop that matters, the database's.
        return 3.0 if child.stop_signal is signal.SIGINT else 1.0

    def _start_watchdog(self) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 - our own file
            [sys.executable, "-S", "-E", watchdog.__file__],
            stdin=subprocess.PIPE,
            text=True,
            cwd="/",
            start_new_session=True,  # out of reach of the terminal and of a kill of our group
        )

    def _tell_watchdog(self, line: str) -> None:
        if self._watchdog.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.stdin.write(line + "\n")
                self._watchdog.stdin.flush()

    # Watching

    def check(self) -> None:
        """Notice ended children and start them again when their back-off is over. Raises KeepsCrashing."""
        now = time.monotonic()
        if self._watchdog.poll() is not None:
            self._replace_watchdog()
        for child in self.children:
            if child.process is not None and child.process.poll() is not None:
                self._note_crash(child, now)
            if child.start_again_at is not None and now >= child.start_again_at:
                self._start(child)

    def _close_watchdog(self) -> None:
        if self._watchdog.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.stdin.close()
        self._watchdog.wait()

    def _replace_watchdog(self) -> None:
        self._close_watchdog()
        self._watchdog = self._start_watchdog()
        for child in self.children:
            if child.process is not None:
                self._tell_watchdog(f"+{child.process.pid} {self._grace(child)}")

    def _note_crash(self, child: Child, now: float) -> None:
        code = self._forget(child)
        child.crashes = [moment for moment in child.crashes if now - moment < CRASH_WINDOW_SECONDS] + [now]
        if len(child.crashes) >= CRASHES_ALLOWED:
            raise KeepsCrashing(
                f"{child.name} ended {len(child.crashes)} times within a minute (last: {code}); "
                f"stopping everything. Its log: {child.log}"
            )
        wait = BACK_OFF_SECONDS[len(child.crashes) - 1]
        child.start_again_at = now + wait
        say(f"{child.name} ended ({code}); starting it again in {wait:g} s. Its log: {child.log}")

    def _forget(self, child: Child) -> str:
        """Clear away what a dead process left of its group; return how it ended, in words."""
        process = child.process
        if process is None:
            return "not started"
        _signal_group(process.pid, signal.SIGKILL)
        self._tell_watchdog(f"-{process.pid}")
        child.process = None
        code = process.returncode
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"

    # Stopping

    def stop(self) -> None:
        """Stop the children in the reverse of their order; those that share a rank stop side by side."""
        for command in self.one_off:
            _signal_group(command.pid, signal.SIGKILL)
            command.wait()
        processes = [child for child in self.children if child.process is not None]
        servers = [child for child in processes if child.name in {"PostgreSQL", "Valkey"}]
        programs = [child for child in processes if child not in servers]
        for rank in (programs, servers):
            for child in reversed(rank):
                self._signal(child, child.stop_signal)
            deadlines = {child.name: time.monotonic() + child.seconds for child in rank}
            for child in rank:
                self._wait(child, deadlines[child.name])
        self._close_watchdog()

    def _signal(self, child: Child, number: signal.Signals) -> None:
        if child.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.process.pid, number)

    def _wait(self, child: Child, deadline: float) -> None:
        if child.process is None:
            return
        try:
            child.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            _signal_group(child.process.pid, signal.SIGKILL)
            child.process.wait()
        self._forget(child)


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
