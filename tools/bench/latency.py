"""From POST to verdict with `Prefer: wait`, fifty a second, on web process, worker and schedule as they start."""

from __future__ import annotations

import subprocess

from reviewqueue.up import programs
from tools.bench import load
from tools.bench.documents import of_size, stencil
from tools.bench.figures import show
from tools.bench.load import Load
from tools.bench.machine import Machine, family_of

PATH = "/api/v1/checkpoints"
RATE = 50.0  # posts a second
CONNECTIONS = 64
SECONDS = 5.0  # for each second of `seconds`
BODY = 4096


def measure(machine: Machine, seconds: float) -> None:
    """Print p50 and p99 in milliseconds, and what the processes hold in memory meanwhile."""
    token = machine.token()
    with machine.web() as (port, web):
        commands = programs.commands(host="127.0.0.1", port=port, threads=1)
        others = [machine.start(commands[name]) for name in ("worker", "beat")]

        def waiting(seconds: float) -> Load:
            posts, wanted = stencil(of_size(BODY)), {"Prefer": "wait=20"}
            return Load(port, PATH, token, posts, CONNECTIONS, seconds, rate=RATE, headers=wanted)

        load.run(waiting(2.0))  # each pool process has loaded its vocabulary after it
        found = load.run(waiting(SECONDS * seconds))
        held = resident(web), resident(others[0])
        for process in others:
            machine.end(process)
    unjudged = machine.number("SELECT count(*) FROM handoff WHERE checked_at IS NULL")
    if unjudged:
        raise RuntimeError(f"{unjudged:.0f} posts were answered without a verdict.")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        show(f"verdict_latency_{name}", found.quantile(share) * 1000, "ms", posts=found.answers, rate=RATE)
    show("memory_web_process", max(held[0]), "MB")
    show("memory_worker_process", max(held[1]), "MB")


def resident(process: subprocess.Popen[bytes]) -> list[float]:
    """Resident megabytes of what a process started: web workers, pool processes."""
    return [member.memory_info().rss / 1e6 for member in family_of(process)[1:]]
