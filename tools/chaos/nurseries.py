"""The run's side of the nurseries: see tools.chaos.nursery."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


class Nursery:
    """One kind of program, imported once and forked on request."""

    def __init__(self, kind: str, environment: Mapping[str, str], log: Path) -> None:
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tools.chaos.nursery", kind],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=ROOT,
                env=dict(environment),
                text=True,
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        self._answer()

    def fork(self, argv: list[str], environment: Mapping[str, str], log: Path) -> int:
        """Start a copy; returns its process id, which is its process group too."""
        assert self.process.stdin is not None  # noqa: S101
        request = {"argv": argv, "env": dict(environment), "log": str(log)}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return int(self._answer()["pid"])

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None  # noqa: S101
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a nursery ended; its log is beside those of the programs")
        found: dict[str, Any] = json.loads(line)
        return found

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
