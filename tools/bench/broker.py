"""Ingest while the broker is dead, and while it neither answers nor refuses (SIGSTOP), beside ingest as usual."""

from __future__ import annotations

import signal
import statistics
from collections import defaultdict

from tools.bench import load
from tools.bench.documents import of_size, stencil
from tools.bench.figures import ratio, rounds, show
from tools.bench.load import Load
from tools.bench.machine import Machine

CONNECTIONS = 8
ROUNDS = 3
ROUND_SECONDS = 20.0  # no round begins later
BODY = 4096


def measure(machine: Machine, seconds: float) -> None:
    """Print ingest a second in each of the three states, interleaved."""
    token = machine.token()
    rates: dict[str, list[float]] = defaultdict(list)
    with machine.web() as (port, _):

        def rate(wanted: float) -> float:
            posts = stencil(of_size(BODY))
            return load.run(Load(port, "/api/v1/checkpoints", token, posts, CONNECTIONS, wanted)).per_second

        rate(0.5)  # warm
        for _ in rounds(ROUNDS, ROUND_SECONDS):
            rates["normal"].append(rate(seconds))
            machine.valkey.kill()
            rates["killed"].append(rate(seconds))
            machine.end(machine.valkey)
            machine.start_valkey()
            machine.valkey.send_signal(signal.SIGSTOP)
            rates["paused"].append(rate(seconds))
            machine.valkey.send_signal(signal.SIGCONT)
    show("ingest_broker_up", statistics.median(rates["normal"]), "documents/s", connections=CONNECTIONS)
    for state in ("killed", "paused"):
        show(
            f"ingest_broker_{state}",
            statistics.median(rates[state]),
            "documents/s",
            connections=CONNECTIONS,
            ratio_to_up=ratio(rates[state], rates["normal"]),
            rounds=rates[state],
        )
