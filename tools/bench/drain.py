"""Verdicts a second of the Celery drain, beside one Celery task for each checkpoint judged in the same way.

Both workers have two processes, are warm and stand still (SIGSTOP) while rows and messages are laid out. A round
ends when all rows are judged, or after a limit of time: its rate is that of the rows which were judged.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import time
from collections.abc import Callable

import redis
from celery import Celery

from reviewqueue.up import programs
from tools.bench import load
from tools.bench.documents import of_size, stencil
from tools.bench.figures import ratio, rounds, show
from tools.bench.load import Load
from tools.bench.machine import Machine

ROUNDS = 2
ROUND_SECONDS = 20.0  # no round begins later
PROCESSES = 2
ROWS_PER_SECOND = 1500  # rows a round for each second of `seconds`: 3000 by default
BATCH = 50
LONGEST_SECONDS = 15.0  # of a round
WARM_SECONDS = 60.0
BODY = 4096
ONE_TASK = "tools.bench.one_task"
WAITING = "SELECT count(*) FROM handoff WHERE state = 'received'"
QUEUE = "celery"
DRAIN, SINGLE = 0, 1  # numbers of the broker's databases


def measure(machine: Machine, seconds: float) -> None:
    """Print verdicts a second of both ways, and their ratio."""
    rows = max(BATCH, int(ROWS_PER_SECOND * seconds) // BATCH * BATCH)
    token = machine.token()
    bells, letters = (Queue(machine.redis_url(number)) for number in (DRAIN, SINGLE))
    drained: list[float] = []
    one_by_one: list[float] = []
    with machine.web() as (port, _):
        drain = machine.start(worker("reviewqueue"))
        single = machine.start(
            [*worker(ONE_TASK), "--prefetch-multiplier", "64", "--max-tasks-per-child", "1000000"],
            REDIS_URL=machine.redis_url(SINGLE),
        )
        warm(bells, letters)
        for process in (drain, single):
            os.killpg(process.pid, signal.SIGSTOP)
        for _ in rounds(ROUNDS, ROUND_SECONDS):
            lay_out(machine, port, token, rows)
            drained.append(rate(machine, drain, lambda: ring(bells)))
            lay_out(machine, port, token, rows)
            send_one_by_one(machine, letters)
            one_by_one.append(rate(machine, single, lambda: None))
            letters.forget()  # rows that no verdict reached in time: the next drain judges them
        for process in (drain, single):
            machine.end(process)
    show(
        "drain",
        statistics.median(drained),
        "verdicts/s",
        rows=rows,
        processes=PROCESSES,
        ratio_to_one_task_each=ratio(drained, one_by_one),
        rounds=drained,
    )
    show("drain_one_task_each", statistics.median(one_by_one), "verdicts/s", rows=rows, rounds=one_by_one)


class Queue:
    """The messages of one broker database."""

    def __init__(self, url: str) -> None:
        self._celery = Celery(broker=url, set_as_current=False)
        self._redis = redis.Redis.from_url(url)

    @property
    def length(self) -> int:
        return int(self._redis.llen(QUEUE))

    def send(self, task: str, *arguments: str) -> None:
        self._celery.send_task(task, arguments, ignore_result=True, expires=60)

    def forget(self) -> None:
        self._redis.delete(QUEUE)


def worker(application: str) -> list[str]:
    """The arguments with which the product starts its worker, for another application."""
    arguments = programs.commands(host="127.0.0.1", port=0, threads=1)["worker"]
    arguments[arguments.index("reviewqueue")] = application
    return [*arguments, "--concurrency", str(PROCESSES)]


def warm(bells: Queue, letters: Queue) -> None:
    """Have every pool process load what it needs before it judges: both answer when no message is left."""
    for _ in range(4 * PROCESSES):
        bells.send("checkpoints.drain")
        letters.send(f"{ONE_TASK}.warm")
    if not until(lambda: bells.length + letters.length == 0, WARM_SECONDS):
        raise RuntimeError(f"The workers did not take their messages in {WARM_SECONDS:.0f} s.")
    time.sleep(2.0)  # those that are being worked on


def lay_out(machine: Machine, port: int, token: str, rows: int) -> None:
    """Store rows until `rows` wait for their verdict."""
    missing = rows - int(machine.number(WAITING))
    path = "/api/v1/checkpoints/batch"
    count = -(-missing // BATCH)
    load.run(Load(port, path, token, stencil(of_size(BODY)), connections=2, batch=BATCH, count=count))


def send_one_by_one(machine: Machine, letters: Queue) -> None:
    with machine.connect() as connection:
        waiting = connection.execute("SELECT id FROM handoff WHERE state = 'received' ORDER BY id").fetchall()
    for (handoff_id,) in waiting:
        letters.send(f"{ONE_TASK}.judge_one", str(handoff_id))


def ring(bells: Queue) -> None:
    """What the schedule does every second: a second process joins the one that the doorbell woke."""
    bells.send("checkpoints.sweep")


def rate(machine: Machine, process: subprocess.Popen[bytes], every_second: Callable[[], None]) -> float:
    """Let a worker go until nothing waits; verdicts a second. Every verdict must be `cleared`."""
    waiting = machine.number(WAITING)
    began = machine.number("SELECT extract(epoch FROM clock_timestamp())")
    os.killpg(process.pid, signal.SIGCONT)
    rung = 0.0

    def finished() -> bool:
        nonlocal rung
        if time.monotonic() - rung >= 1.0:
            every_second()
            rung = time.monotonic()
        return machine.number(WAITING) == 0

    until(finished, LONGEST_SECONDS)
    judged = waiting - machine.number(WAITING)
    ended = machine.number("SELECT extract(epoch FROM max(checked_at)) FROM handoff")
    time.sleep(1.0)  # a process that stands still in the middle of a task is taken for one that hangs
    os.killpg(process.pid, signal.SIGSTOP)
    others = machine.number("SELECT count(*) FROM handoff WHERE state NOT IN ('received', 'cleared')")
    if others or not judged:
        raise RuntimeError(f"{judged:.0f} documents were judged; {others:.0f} clean ones were not cleared.")
    return judged / (ended - began)


def until(done: Callable[[], bool], seconds: float) -> bool:
    """Whether it is done before the time is over."""
    deadline = time.monotonic() + seconds
    while not (finished := done()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return finished
