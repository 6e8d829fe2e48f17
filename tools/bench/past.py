"""What the past costs: a check in a long session against one in a short session, and a simulation of a whole store.

Runs as a process of its own in the database of the environment: python -m tools.bench.past history|backlog|simulation N
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import batched
from typing import Any

from reviewqueue.up.state import ROOT
from tools.bench.documents import of_size
from tools.bench.figures import show
from tools.bench.load import HASH, NUMBER
from tools.bench.machine import Machine

SHORT, LONG, MORE = 10, 10_000, 40
FEW, WAITING = 200, 3_000
STORED = 100_000
BODY = 2048


def history(machine: Machine, _: float) -> None:
    """Time of one check in a session of 10 000 checkpoints against one in a session of 10."""
    _run(machine, "history", LONG)


def backlog(machine: Machine, _: float) -> None:
    """Time of a check when 3 000 rows of one session wait, against 200 of them, and against many sessions."""
    _run(machine, "backlog", WAITING)


def simulation(machine: Machine, _: float) -> None:
    """Seconds that `policy simulate` takes over 100 000 stored checkpoints. Goal: 120."""
    _run(machine, "simulation", STORED)


def _run(machine: Machine, part: str, count: int) -> None:
    command = [sys.executable, "-m", "tools.bench.past", part, str(count)]
    done = subprocess.run(command, env=machine.environment(), cwd=ROOT, check=True, stdout=subprocess.PIPE)
    sys.stdout.write(done.stdout.decode())
    sys.stdout.flush()


def bodies(session: str, start: int, count: int) -> Iterator[bytes]:
    """Clean documents of one session, numbered from `start`."""
    from checkpoints.formats import covered_object, hash_of

    stencil = json.dumps(of_size(BODY))
    for sequence in range(start, start + count):
        text = stencil.replace(NUMBER, secrets.token_hex(8)).replace(HASH, "")
        document = json.loads(text) | {"session_id": session, "handoff_sequence": sequence}
        document.pop("consistency_hash", None)
        covered = covered_object(document, {})
        document["consistency_hash"] = hash_of(covered) if covered else None
        yield json.dumps(document).encode()


def store(owner: Any, sender: Any, session: str, start: int, count: int) -> None:
    _store_all(owner, sender, bodies(session, start, count))


def _store_all(owner: Any, sender: Any, given: Iterable[bytes]) -> None:
    from checkpoints.formats import admit as read
    from checkpoints.services import admission
    from checkpoints.services.received_rows import Arrival

    for group in batched(given, 64):
        admission.admit_together([Arrival(owner, body, read(body), sender) for body in group])


def drained() -> int:
    from checkpoints.services.verification import drain

    count = 0
    while (done := drain(seconds=3600)) > 0:
        count += done
    return count


def one_check(owner: Any, sender: Any, session: str, start: int) -> list[float]:
    """Milliseconds of each of MORE checks, one drained at a time."""
    times = []
    for sequence in range(start, start + MORE):
        store(owner, sender, session, sequence, 1)
        began = time.perf_counter()
        if drained() != 1:
            raise RuntimeError("The drain did not judge the one that was posted.")
        times.append((time.perf_counter() - began) * 1000)
    return times


def measure_history(owner: Any, sender: Any, count: int) -> None:
    store(owner, sender, "short", 1, SHORT)
    for start in range(1, count + 1, 100):  # judged as they come, as on a server that keeps up
        store(owner, sender, "long", start, min(100, count + 1 - start))
        drained()
    _analyse()
    short: list[float] = []
    long: list[float] = []
    for turn in range(3):  # in turns, so that a busy moment meets both
        short += (
            one_check(owner, sender, f"short-{turn}", 1)
            if turn
            else one_check(owner, sender, "short", SHORT + 1)
        )
        long += one_check(owner, sender, "long", count + turn * MORE + 1)
    few, many = statistics.median(short), statistics.median(long)
    show("check_in_session", many, "ms", checkpoints=count, ratio_to_short=many / few, short_ms=few)


def measure_backlog(owner: Any, sender: Any, count: int) -> None:
    """Milliseconds a row when `count` rows of one session wait at once, against FEW rows of one session.

    Rows of one session are judged one after the other, those of many sessions DRAIN_BATCH at a time: the third
    figure says what that is worth.
    """
    names = [f"waiting-{number}" for number in range(64)]
    backlogs = {
        "few": list(bodies("few", 1, FEW)),
        "one": list(bodies("waiting", 1, count)),
        "many": [
            body for turn in range(1, count // 64 + 1) for name in names for body in bodies(name, turn, 1)
        ],
    }
    each = {}
    for which, waiting in backlogs.items():
        _store_all(owner, sender, waiting)
        _analyse()
        began = time.perf_counter()
        if drained() != len(waiting):
            raise RuntimeError("The drain did not judge what waited.")
        each[which] = (time.perf_counter() - began) * 1000 / len(waiting)
    show(
        "backlog_of_one_session",
        each["one"],
        "ms a row",
        rows=count,
        ratio_to_few=each["one"] / each["few"],
        ratio_to_many_sessions=each["one"] / each["many"],
    )


def measure_simulation(owner: Any, sender: Any, count: int) -> None:
    from checkpoints.models import CheckRun
    from checkpoints.services.simulation import simulate

    names = [f"stored-{number}" for number in range(64)]
    for turn in range(1, count // len(names) + 1):  # side by side: rows of one session are judged one by one
        _store_all(owner, sender, [body for name in names for body in bodies(name, turn, 1)])
        drained()
    stored = CheckRun.objects.count()
    began = time.perf_counter()
    report = simulate(document={"max_document_bytes": 1024}, days=7, processes=os.cpu_count() or 1)
    show(
        "simulation",
        time.perf_counter() - began,
        "s",
        checkpoints=stored,
        differences=len(report.differences),
    )


def _analyse() -> None:
    """What autovacuum does in a while on a real server."""
    import psycopg

    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute("ANALYZE")


def main() -> int:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
    django.setup()
    logging.disable(logging.INFO)
    from checkpoints.services import tokens
    from checkpoints.types import COMMAND_LINE, Actor

    _, token = tokens.create_token(orchestrator_name="past", scopes=(), actor=COMMAND_LINE)
    sender = Actor("orchestrator", "past", "past")
    measure = {"history": measure_history, "backlog": measure_backlog, "simulation": measure_simulation}[
        sys.argv[1]
    ]
    measure(token.orchestrator, sender, int(sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
