"""Figures as JSON lines; docs/benchmarks.md says how to read them.

make bench                              all of them
python -m tools.bench --only ingest     one part; may be repeated
python -m tools.bench --seconds 5       longer rounds than the usual two seconds
"""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import time
from collections.abc import Callable

from tools.bench import broker, checks, compared, drain, honest, ingest, latency, pages, past, waiting
from tools.bench.figures import show
from tools.bench.machine import Machine

#: Parts that need servers, in the order in which they run.
ON_SERVERS: dict[str, Callable[[Machine, float], None]] = {
    "ingest": ingest.measure,
    "langgraph": compared.measure,
    "broker": broker.measure,
    "drain": drain.measure,
    "latency": latency.measure,
    "waiting": waiting.measure,
    "pages": pages.measure,
    "honest": honest.measure,
    "history": past.history,
    "backlog": past.backlog,
    "simulation": past.simulation,
}
CHECKS = "checks"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", action="append", choices=[CHECKS, *ON_SERVERS], help="run this part only")
    parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="of a round (default: 2)")
    options = parser.parse_args()
    if not 0.05 <= options.seconds <= 600:
        parser.error("--seconds is a number from 0.05 to 600")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(
            number, lambda *_: sys.exit(1)
        )  # an exception: what was started is ended on the way out
    began = time.monotonic()
    chosen = options.only or [CHECKS, *ON_SERVERS]
    show(
        "machine", os.cpu_count() or 1, "cores", python=platform.python_version(), load=list(os.getloadavg())
    )
    if CHECKS in chosen:
        checks.measure(options.seconds)
    on_servers = [name for name in ON_SERVERS if name in chosen]
    if on_servers:
        with Machine() as machine:
            for name in on_servers:
                machine.use_database(name)
                ON_SERVERS[name](machine, options.seconds)
    show("bench_duration", time.monotonic() - began, "s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
