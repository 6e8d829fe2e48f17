"""HTTP ingest with tokens and durable commits, beside pgbench and beside a naive endpoint, interleaved."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Iterator

from reviewqueue.up import embedded
from tools.bench import load
from tools.bench.documents import of_size, sealed, stencil
from tools.bench.figures import ratio, rounds, show
from tools.bench.load import Load, Stencil
from tools.bench.machine import NAIVE, Machine, processor_seconds
from tools.bench.pgbench import Pgbench

CONNECTIONS = (1, 8, 32)
BATCH = 32  # documents in one request
ROUNDS = 3
ROUND_SECONDS = 80.0  # no round begins later
SINGLE, MANY = "/api/v1/checkpoints", "/api/v1/checkpoints/batch"
#: Each thread of the naive one keeps a connection of its own.
NAIVE_THREADS = 32
BODY = 4096


def measure(machine: Machine, seconds: float, *, connections: tuple[int, ...] = CONNECTIONS) -> None:
    """Print the figures of ingest."""
    yardstick = Pgbench(machine, sealed(of_size(BODY)))
    rates: dict[str, list[float]] = defaultdict(list)
    costs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    token = machine.token()
    with machine.web() as (port, web), naive(machine) as (naive_port, naive_token):
        for target, path, key in ((port, SINGLE, token), (naive_port, "/checkpoints", naive_token)):
            load.run(Load(target, path, key, fresh(), max(connections), seconds=0.3))  # warm
        for _ in rounds(ROUNDS, ROUND_SECONDS):
            for number in connections:
                rates[f"pgbench {number}"].append(yardstick.rate(connections=number, seconds=seconds))
                single = Load(port, SINGLE, token, fresh(), number, seconds)
                found, cost = posted(machine, single, web)
                rates[f"ours {number}"].append(found)
                costs[f"ours {number}"].append(cost)
                other = Load(naive_port, "/checkpoints", naive_token, fresh(), number, seconds)
                rates[f"naive {number}"].append(load.run(other).per_second)
            batch = Load(port, MANY, token, fresh(), max(connections), seconds, batch=BATCH)
            found, cost = posted(machine, batch, web)
            rates["batch"].append(found)
            costs["batch"].append(cost)
    for number in connections:
        show_single(number, rates, costs[f"ours {number}"])
    show(
        "ingest_batch",
        statistics.median(rates["batch"]),
        "documents/s",
        connections=max(connections),
        documents_in_a_request=BATCH,
        ratio_to_pgbench=ratio(rates["batch"], rates[f"pgbench {max(connections)}"]),
        ratio_to_single=ratio(rates["batch"], rates[f"ours {max(connections)}"]),
        rounds=rates["batch"],
        **processor_time(costs["batch"]),
    )


def show_single(number: int, rates: dict[str, list[float]], costs: list[tuple[float, float]]) -> None:
    ours, rows, naive_ones = (rates[f"{who} {number}"] for who in ("ours", "pgbench", "naive"))
    show(
        "ingest",
        statistics.median(ours),
        "documents/s",
        connections=number,
        ratio_to_pgbench=ratio(ours, rows),
        ratio_to_naive=ratio(ours, naive_ones),
        rounds=ours,
        **processor_time(costs),
    )
    show("ingest_pgbench", statistics.median(rows), "rows/s", connections=number, rounds=rows)
    show("ingest_naive", statistics.median(naive_ones), "documents/s", connections=number, rounds=naive_ones)


def fresh() -> Stencil:
    """Posts whose names no earlier run used."""
    return stencil(of_size(BODY))


def posted(machine: Machine, wanted: Load, web: subprocess.Popen[bytes]) -> tuple[float, tuple[float, float]]:
    """Documents a second, and the processor microseconds of (web, PostgreSQL) for each. Every answer is held
    against the rows that stand in the database afterwards."""
    before = machine.number("SELECT count(*) FROM handoff")
    started = processor_seconds(web), processor_seconds(machine.postgres)
    found = load.run(wanted)
    ended = processor_seconds(web), processor_seconds(machine.postgres)
    stored = machine.number("SELECT count(*) FROM handoff") - before
    if stored != found.answers * wanted.batch:
        raise RuntimeError(
            f"{found.answers} requests of {wanted.batch} were answered, {stored:.0f} rows stored."
        )
    web_time, database_time = (
        (end - start) / stored * 1e6 for start, end in zip(started, ended, strict=True)
    )
    return stored / found.seconds, (web_time, database_time)


def processor_time(costs: list[tuple[float, float]]) -> dict[str, float]:
    """Medians in microseconds a document: other work on the machine disturbs these less than rates."""
    return {
        "processor_us_web": statistics.median(web for web, _ in costs),
        "processor_us_postgresql": statistics.median(database for _, database in costs),
    }


@contextlib.contextmanager
def naive(machine: Machine) -> Iterator[tuple[int, str]]:
    """The naive endpoint on the same web server with as many processes: (port, token)."""
    own = {
        "NAIVE_DATABASE_URL": machine.url("owner", NAIVE),
        "DJANGO_SETTINGS_MODULE": "tools.bench.naive.settings",
    }
    machine.manage("migrate", "--run-syncdb", "--verbosity=0", **own)
    token = secrets.token_urlsafe(32)
    with machine.connect(NAIVE) as connection:
        connection.execute(
            "INSERT INTO naive_token (digest, owner, expires_at) VALUES (%s, 'bench', now() + interval '1 day')",
            [hashlib.sha256(token.encode()).digest()],
        )
    port = embedded.free_port()
    arguments = ["-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port)]
    arguments += ["--workers", "1", "--blocking-threads", str(NAIVE_THREADS), "--http", "1", "--no-ws"]
    process = machine.start([*arguments, "tools.bench.naive.wsgi:application"], **own)
    try:
        machine.wait_for_answer(port, "/checkpoints", process)
        yield port, token
    finally:
        machine.end(process)
