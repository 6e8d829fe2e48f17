"""One run from the first server to the verdict: start, load and faults, mending, checking, ending."""

from __future__ import annotations

import json
import shutil
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import psycopg

from reviewqueue.up import embedded
from reviewqueue.up.children import is_root
from tools.chaos.breaker import Breaker
from tools.chaos.chains import events_of
from tools.chaos.checker import check
from tools.chaos.journal import Journal
from tools.chaos.machine import PEOPLE, Machine
from tools.chaos.operators import Operator
from tools.chaos.orchestrators import Orchestrator
from tools.chaos.points import ALL, not_hit
from tools.chaos.receivers import Receivers
from tools.chaos.records import History, Violation, read
from tools.chaos.senders import Sender
from tools.chaos.wire import Api, Http, Stage

SENDERS, ORCHESTRATORS = 3, 2
SETTLE_SECONDS = 60.0
RESUME_SECONDS = 60.0  # after the broker came back
# As long as something has no verdict, or a deadline that is over stands unkept, a run has not settled.
UNSETTLED = """
    SELECT (SELECT count(*) FROM handoff WHERE state = 'received'
        OR (state = 'dispatched' AND acknowledge_by < clock_timestamp())
        OR (state = 'flagged' AND review_deadline < clock_timestamp())
        OR return_by < clock_timestamp())
        + (SELECT count(*) FROM audit_entry) - (SELECT count(*) FROM audit_leaf)
"""
UNJUDGED_SINCE = (
    "SELECT count(*) FROM handoff WHERE state = 'received' AND received_at < to_timestamp(%(moment)s)"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """`kept` is True where every promise was kept; `summary` is what the run prints."""

    kept: bool
    summary: dict[str, Any]


def run(*, seed: str, seconds: float, broker_away: float, say: Callable[[str], None]) -> Outcome:
    """Everything is ended and deleted when this returns; after a broken promise the logs stay."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-", dir=embedded.shared_folder() if is_root() else None))
    folder.chmod(0o711)
    say(f"seed {seed}: starting PostgreSQL, Valkey, two web servers, two workers, schedule, sealer")
    kept = False
    machine = Machine(folder)
    try:
        machine.start()
        outcome = _play(machine, seed, seconds, broker_away, say)
        kept = outcome.kept
        return outcome
    finally:
        machine.stop()
        shutil.rmtree(folder / "pg", ignore_errors=True)
        if kept:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            say(f"logs, journal and snapshot are kept in {folder}")


def _play(
    machine: Machine, seed: str, seconds: float, broker_away: float, say: Callable[[str], None]
) -> Outcome:
    stage, journal = Stage(), Journal(machine.folder / "clients.jsonl")
    receivers = Receivers(machine.folder)
    crowd = _Crowd(machine, seed, stage, journal, receivers)
    breaker = Breaker(machine, f"{seed}-faults")
    began = time.monotonic()
    say(f"breaking things for {seconds:.0f} s")
    crowd.start()
    outages: list[tuple[float, float]] = []
    resumed: float | None = None
    try:
        breaker.run(seconds=seconds, at_most=2 * seconds + 120)
        broken_seconds = time.monotonic() - began
        breaker.mend()
        if broker_away:
            say(f"{breaker.total} faults; no broker for {broker_away:.0f} s, and nobody mends what hangs")
            outages, resumed = _without_broker(machine, breaker, broker_away)
    finally:
        stage.close(patience=30)
    say(f"{breaker.total} faults; waiting for verdicts and deadlines")
    mended = time.monotonic()
    while crowd.alive() or (_unsettled(machine) and time.monotonic() - mended < SETTLE_SECONDS):
        breaker.tend_unarmed()
        time.sleep(0.2)
    settle_seconds = time.monotonic() - mended
    history = History(
        journal=journal.entries(),
        effects=receivers.effects(),
        rows=read(machine.url("superuser")),
        jwks=machine.jwks,
        sealer_key=machine.sealer_key(),
        heads=machine.heads_file(),
        points_missing=not_hit(machine.points_hit()),
        outages=outages,
    )
    violations = [*check(history), *crowd.failures()]
    if violations:
        _save(machine.folder / "snapshot.json", history)
    times = {
        "broken_seconds": round(broken_seconds, 1),
        "settle_seconds": round(settle_seconds, 1),
        "resumed_seconds": resumed,
    }
    summary = {"seed": seed, "kept": not violations, **times, **_summary(history, breaker, violations)}
    summary["late_verdicts_refused"] = _late_verdicts(machine)
    return Outcome(not violations, summary)


def _without_broker(
    machine: Machine, breaker: Breaker, seconds: float
) -> tuple[list[tuple[float, float]], float | None]:
    """The outage, and how long after it everything that came in before its end had a verdict (None: not in time).

    Nothing is killed meanwhile. A program that ends by itself is started again, as its supervisor would.
    """
    _wait_until_up(machine, breaker)
    went, came_back = breaker.broker_away(seconds)
    deadline = time.monotonic() + RESUME_SECONDS
    while time.monotonic() < deadline:
        breaker.tend_unarmed()
        if not _count(machine, UNJUDGED_SINCE, moment=came_back):
            return [(went, came_back)], round(time.time() - came_back, 1)
        time.sleep(0.1)
    return [(went, came_back)], None


def _wait_until_up(machine: Machine, breaker: Breaker) -> None:
    """Until both web servers answer again: what the faults before did is not the outage's."""
    for port in machine.ports:
        machine.wait_for_port(port, meanwhile=breaker.tend_unarmed)


class _Crowd:
    """The threads of the clients and people."""

    def __init__(
        self, machine: Machine, seed: str, stage: Stage, journal: Journal, receivers: Receivers
    ) -> None:
        def api(name: str) -> Api:
            return Api(Http(machine.ports, f"{seed}-{name}"), machine.token, journal, stage)

        acts: dict[str, Callable[[], None]] = {}
        for number in range(1, SENDERS + 1):
            name = f"{seed}-{number}"
            acts[f"sender {number}"] = Sender(api(name), name).run
        for number in range(1, ORCHESTRATORS + 1):
            name = f"{seed}-orchestrator-{number}"
            acts[f"orchestrator {number}"] = Orchestrator(api(name), receivers, name).run
        for username in PEOPLE:
            acts[username] = Operator(api(username), username, f"{seed}-{username}").run
        self._errors: list[Violation] = []
        self._threads = [
            threading.Thread(target=self._guarded, args=(name, act), name=name, daemon=True)
            for name, act in acts.items()
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def failures(self) -> list[Violation]:
        """Clients that broke off: an answer was not what the contract promises."""
        return self._errors

    def _guarded(self, name: str, act: Callable[[], None]) -> None:
        try:
            act()
        except Exception:
            self._errors.append(Violation("client", traceback.format_exc(limit=-3), {"client": name}))


def _unsettled(machine: Machine) -> int:
    """How many rows have something overdue; 1 where the database does not say."""
    return _count(machine, UNSETTLED)


def _count(machine: Machine, statement: LiteralString, **values: float) -> int:
    try:
        with psycopg.connect(machine.url("superuser"), connect_timeout=2) as connection:
            row = connection.execute(statement, values).fetchone()
    except psycopg.OperationalError:
        return 1
    return int(row[0]) if row else 1


def _late_verdicts(machine: Machine) -> int:
    """How often a worker that had lost its claim was refused, by its own log."""
    return sum(
        log.read_text(errors="replace").count("verdict.discarded") for log in machine.logs.glob("worker*.log")
    )


def _summary(history: History, breaker: Breaker, violations: list[Violation]) -> dict[str, Any]:
    stored = history.of_kind("stored")
    states = Counter(row["state"] for row in history.rows["handoff"])
    reports = Counter(entry["verb"] for entry in history.of_kind("reported"))
    rules = Counter(item.rule for item in violations)
    first = violations[0] if violations else None
    return {
        "faults": breaker.total,
        "faults_by_kind": dict(sorted(breaker.faults.items())),
        "points": len(ALL),
        "points_missing": history.points_missing,
        "answered_201": sum(entry["status"] == 201 for entry in stored),
        "answered_200": sum(entry["status"] == 200 for entry in stored),
        "refusals": len(history.of_kind("refused")),
        "handoffs": len(history.rows["handoff"]),
        "states": dict(sorted(states.items())),
        "dispatches": len(history.of_kind("dispatched")),
        "reports": dict(sorted(reports.items())),
        "decisions": len(history.rows["decision"]),
        "effects": dict(sorted(Counter(item["receiver"] for item in history.effects).items())),
        "audit_entries": len(history.rows["audit"]),
        "leaves": len(history.rows["leaf"]),
        "heads": len(history.rows["head"]),
        "lost": rules["lost"] + rules["digest"] + rules["stuck"],
        "double": rules["double"] + rules["decisions"] + rules["unasked effect"],
        "gaps": rules["gap"] + rules["audit chain"] + rules["story"],
        "violations": dict(sorted(rules.items())),
        "first_violation": _shown(history, first) if first else None,
    }


def _shown(history: History, violation: Violation) -> dict[str, Any]:
    checkpoint_id = violation.ids.get("checkpoint_id")
    if checkpoint_id is None and "handoff" in violation.ids:
        wanted = violation.ids["handoff"]
        rows = [row for row in history.rows["handoff"] if str(row["id"]) == wanted]
        checkpoint_id = rows[0]["checkpoint_id"] if rows else None
    events = events_of(history, checkpoint_id) if checkpoint_id else []
    return {"rule": violation.rule, "text": violation.text, "ids": dict(violation.ids), "events": events}


def _save(path: Path, history: History) -> None:
    path.write_text(json.dumps(history.rows, default=str))
