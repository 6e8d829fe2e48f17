"""The yardstick: pgbench inserting single rows of the same body, one commit each, on the same server."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from reviewqueue.up import embedded
from tools.bench.machine import ROWS, Machine

# The least that a durable store of documents needs: the bytes as they came, a unique name, an index of open rows.
TABLE = """
    CREATE TABLE bare_row (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name uuid NOT NULL UNIQUE,
        status smallint NOT NULL,
        content bytea NOT NULL
    );
    ALTER TABLE bare_row ALTER COLUMN content SET STORAGE EXTERNAL;
    CREATE INDEX bare_row_open ON bare_row (status, id);
"""
INSERT = "INSERT INTO bare_row (name, status, content) VALUES (gen_random_uuid(), 0, (:body)::bytea);\n"
_RATE = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)


class Pgbench:
    """pgbench with prepared statements, ready to run."""

    def __init__(self, machine: Machine, body: bytes) -> None:
        self._machine, self._body = machine, body
        self._script = machine.folder / "insert.sql"
        self._script.write_text(INSERT)
        with machine.connect(ROWS) as connection:
            connection.execute(TABLE)

    def rate(self, *, connections: int, seconds: float) -> float:
        """Committed rows a second. pgbench counts whole seconds: `seconds` is rounded up."""
        port = self._machine.postgres_port
        argv = [str(binary()), "-n", "-M", "prepared", "-c", str(connections), "-j", "1"]
        argv += [
            "-T",
            str(max(1, round(seconds))),
            "-f",
            str(self._script),
            "-D",
            f"body=\\x{self._body.hex()}",
        ]
        argv += ["-h", "127.0.0.1", "-p", str(port), "-U", embedded.SUPERUSER, ROWS]
        environment = os.environ | {"PGPASSWORD": self._machine.passwords["superuser"]}
        done = subprocess.run(argv, capture_output=True, text=True, env=environment, check=False)
        found = _RATE.search(done.stdout)
        if done.returncode != 0 or found is None:
            raise RuntimeError(f"pgbench failed: {done.stdout[-500:]}{done.stderr[-1500:]}")
        return float(found[1])


def binary() -> Path:
    return embedded.postgres_binaries() / "pgbench"
