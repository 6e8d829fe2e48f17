"""Two reference receivers outside the database: one remembers the keys it has seen, one does not."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from pathlib import Path
from typing import Any

import rfc8785

from tools.chaos.documents import LEDGER
from tools.chaos.journal import Journal


class Receivers:
    """Takes what a dispatch answered. The effect is a row or line; it is on disk before `deliver` returns."""

    def __init__(self, folder: Path) -> None:
        self.ledger, self.plain = folder / "ledger.sqlite", Journal(folder / "effects.jsonl")
        self._lock = threading.Lock()
        with sqlite3.connect(self.ledger) as database:
            database.execute("CREATE TABLE seen (key TEXT PRIMARY KEY)")
            database.execute(
                "CREATE TABLE effect (checkpoint_id TEXT, attempt INTEGER, key TEXT, digest TEXT)"
            )
        database.close()

    def deliver(self, answer: dict[str, Any]) -> None:
        digest = "sha256:" + hashlib.sha256(rfc8785.dumps(answer["payload"])).hexdigest()
        effect = (answer["checkpoint_id"], answer["attempt"], answer["idempotency_key"], digest)
        if answer["target_role"] == LEDGER:
            self._book(effect)
        else:
            names = ("checkpoint_id", "attempt", "key", "digest")
            self.plain.append("effect", **dict(zip(names, effect, strict=True)))

    def _book(self, effect: tuple[str, int, str, str]) -> None:
        """Effect and key in one transaction: a key seen before has no second effect."""
        with self._lock:
            database = sqlite3.connect(self.ledger)
            with database:
                seen = database.execute("INSERT OR IGNORE INTO seen VALUES (?)", [effect[2]])
                if seen.rowcount:
                    database.execute("INSERT INTO effect VALUES (?, ?, ?, ?)", effect)
            database.close()

    def effects(self) -> list[dict[str, Any]]:
        """Every effect of both, each with its `receiver`."""
        database = sqlite3.connect(self.ledger)
        rows = database.execute("SELECT checkpoint_id, attempt, key, digest FROM effect").fetchall()
        database.close()
        names = ("checkpoint_id", "attempt", "key", "digest")
        booked = [{"receiver": "ledger", **dict(zip(names, row, strict=True))} for row in rows]
        return booked + [{"receiver": "plain", **entry} for entry in self.plain.entries()]
