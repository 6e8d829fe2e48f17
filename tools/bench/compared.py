"""Ingest beside LangGraph's PostgreSQL checkpointer: `PostgresSaver.put` of the same document, in process, without
HTTP, token or checks, on the same server; interleaved.

The saver is called in an environment of its own (`tools/environment.sh compared`), by `saver.py`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections import defaultdict

from tools.bench import load
from tools.bench.documents import of_size, sealed
from tools.bench.figures import ratio, rounds, show
from tools.bench.ingest import BATCH, BODY, MANY, ROUND_SECONDS, ROUNDS, SINGLE, fresh
from tools.bench.load import Load
from tools.bench.machine import ROOT, Machine

PYTHON = ROOT / ".venv-compared" / "bin" / "python"
DATABASE = "langgraph_saver"
THREADS = (1, 8, 32)


def measure(machine: Machine, seconds: float) -> None:
    """Print documents a second of single posts and of batches, each with its ratio to the saver on as many threads."""
    if not PYTHON.exists():
        raise SystemExit(
            "LangGraph's checkpointer is not installed: run tools/environment.sh compared first."
        )
    machine.create(DATABASE)
    token = machine.token()
    rates: dict[str, list[float]] = defaultdict(list)
    with machine.web() as (port, _):
        load.run(Load(port, SINGLE, token, fresh(), max(THREADS), seconds=0.3))  # warm
        for _ in rounds(ROUNDS, ROUND_SECONDS):
            for number in THREADS:
                rates[f"saver {number}"].append(saver(machine, threads=number, seconds=seconds))
                single = load.run(Load(port, SINGLE, token, fresh(), number, seconds))
                rates[f"single {number}"].append(single.per_second)
            batch = load.run(Load(port, MANY, token, fresh(), max(THREADS), seconds, batch=BATCH))
            rates["batch"].append(batch.per_second * BATCH)
    for number in THREADS:
        ours, theirs = rates[f"single {number}"], rates[f"saver {number}"]
        show("langgraph_saver", statistics.median(theirs), "documents/s", threads=number, rounds=theirs)
        show(
            "ingest_beside_langgraph",
            statistics.median(ours),
            "documents/s",
            connections=number,
            ratio_to_langgraph=ratio(ours, theirs),
            rounds=ours,
        )
    show(
        "ingest_batch_beside_langgraph",
        statistics.median(rates["batch"]),
        "documents/s",
        connections=max(THREADS),
        documents_in_a_request=BATCH,
        ratio_to_langgraph=ratio(rates["batch"], rates[f"saver {max(THREADS)}"]),
        rounds=rates["batch"],
    )


def saver(machine: Machine, *, threads: int, seconds: float) -> float:
    """Documents a second that the saver stored."""
    argv = [str(PYTHON), str(ROOT / "tools" / "bench" / "saver.py"), str(threads), str(seconds)]
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
        "DSN": machine.url("superuser", DATABASE),
        "LANGSMITH_TRACING": "false",
    }
    done = subprocess.run(
        argv, input=sealed(of_size(BODY)), env=environment, capture_output=True, check=False, timeout=300
    )
    if done.returncode != 0:
        raise RuntimeError(f"The saver failed: {done.stderr[-1500:].decode(errors='replace')}")
    stored, took = json.loads(done.stdout)
    return float(stored / took)
