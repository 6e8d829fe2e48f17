"""What clients and receivers saw, kept outside of the database."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any


class Journal:
    """JSON lines, each on disk before `append` returns. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._lock = threading.Lock()

    def append(self, kind: str, **members: Any) -> None:
        line = json.dumps({"kind": kind, "at": time.time(), **members}) + "\n"
        with self._lock:
            os.write(self._descriptor, line.encode())
            os.fsync(self._descriptor)

    def entries(self) -> list[dict[str, Any]]:
        """All entries so far, in the order in which they were written."""
        return [json.loads(line) for line in self.path.read_text().splitlines()]

    def close(self) -> None:
        os.close(self._descriptor)
