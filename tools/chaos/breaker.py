"""Breaks the machine at random, from a seed, and puts it together again."""

from __future__ import annotations

import heapq
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable

from tools.chaos.documents import policy
from tools.chaos.machine import Machine, Program
from tools.chaos.points import COMMAND, SEALER, WEB, WORKER, not_hit, points_of

BETWEEN_FAULTS = (0.2, 0.8)  # seconds


class Breaker:
    """`run` until its time is over, then `mend`. Everything happens in the calling thread."""

    def __init__(self, machine: Machine, seed: str) -> None:
        self.machine, self.random = machine, random.Random(seed)
        self.faults: Counter[str] = Counter()
        self._due: list[tuple[float, int, Callable[[], None]]] = []  # repairs: (monotonic, order, act)
        self._order = itertools.count()
        self._hits_seen = 0

    @property
    def total(self) -> int:
        return self.faults.total()

    def run(self, *, seconds: float, at_most: float) -> None:
        """Faults for `seconds`, longer where a crash point was not hit yet, but never beyond `at_most` seconds."""
        began = time.monotonic()
        next_fault = began
        while (passed := time.monotonic() - began) < at_most:
            if passed >= seconds and not not_hit(self.machine.points_hit()):
                break
            self.tend()
            if time.monotonic() >= next_fault:
                self.break_something()
                next_fault = time.monotonic() + self.random.uniform(*BETWEEN_FAULTS)
            time.sleep(0.03)

    def break_something(self) -> None:
        """One fault. A kind that has nothing to break now is passed over."""
        acts = {
            self._kill_web: 8,
            self._kill_worker: 14,
            self._kill_beat: 5,
            self._kill_sealer: 4,
            self._pause_web: 7,
            self._pause_worker: 9,
            self._pause_beat: 4,
            self._pause_sealer: 3,
            self._flush: 12,
            self._kill_valkey: 7,
            self._pause_valkey: 6,
            self._terminate_sessions: 12,
            self._restart_postgres: 6,
            self._publish_policy: 5,
        }
        self.random.choices(list(acts), weights=list(acts.values()))[0]()

    def tend(self) -> None:
        """Do the repairs that are due, start what has died, and put away workers that hit a point."""
        while self._due and self._due[0][0] <= time.monotonic():
            heapq.heappop(self._due)[2]()
        self._harvest()
        for program in self.machine.programs.values():
            if not program.running:
                self.machine.start_program(program.name, armed=self._arms(program))

    def mend(self) -> None:
        """End of faults: everything runs, nothing is armed."""
        while self._due:
            heapq.heappop(self._due)[2]()
        self._harvest()
        for program in self.machine.programs.values():
            if program.armed or not program.running:
                self.machine.kill(program.name)
                self.machine.start_program(program.name)

    def broker_away(self, seconds: float) -> tuple[float, float]:
        """No broker for so long, and nothing else wrong. Returns when it went and came back, in unix time."""
        self.machine.kill_valkey()
        self._note("broker away")
        began, until = time.time(), time.monotonic() + seconds
        while time.monotonic() < until:
            self.tend_unarmed()
            time.sleep(0.1)
        self.machine.start_valkey()
        return began, time.time()

    def tend_unarmed(self) -> None:
        """After `mend`: start what a late blow still fells."""
        for program in self.machine.programs.values():
            if not program.running:
                self.machine.start_program(program.name)

    def _harvest(self) -> None:
        """Count the points hit. Of a worker only a pool process dies there: the whole is put away with it."""
        hits = self.machine.points_hit()
        for name in hits[self._hits_seen :]:
            self.faults[f"point {name}"] += 1
            for program in self.machine.programs.values():
                if program.kind == WORKER and name in program.armed:
                    self.machine.kill(program.name)
        self._hits_seen = len(hits)

    def _arms(self, program: Program) -> tuple[str, ...]:
        """All points that nobody hit yet; where all were hit, every second time by chance, one of them."""
        if program.kind not in (WEB, WORKER, SEALER):
            return ()
        missing = self._missing(program.kind)
        if missing:
            return missing if self.random.random() < 0.85 else ()
        return (self.random.choice(points_of(program.kind)),) if self.random.random() < 0.5 else ()

    def _missing(self, kind: str) -> tuple[str, ...]:
        points = points_of(kind)
        return tuple(name for name in not_hit(self.machine.points_hit()) if name in points)

    # The kinds of faults

    def _note(self, kind: str) -> None:
        self.faults[kind] += 1

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), act))

    def _one(self, kind: str) -> Program | None:
        """A running program of a kind, none of which is paused: one of each stays at work."""
        ours = [program for program in self.machine.programs.values() if program.kind == kind]
        whole = [program for program in ours if program.running and not program.paused]
        if not whole or len(whole) < len(ours):
            return None
        # One that can die at no missing point makes room for one that can.
        missing = set(self._missing(kind)) if kind in (WEB, WORKER, SEALER) else set()
        idle = [program for program in whole if missing and missing.isdisjoint(program.armed)]
        return self.random.choice(idle or whole)

    def _kill(self, kind: str) -> None:
        if (program := self._one(kind)) is not None:
            self.machine.kill(program.name)
            self._note(f"kill {kind}")

    def _pause(self, kind: str, longest: float) -> None:
        if (program := self._one(kind)) is not None:
            name, pid = program.name, program.pid
            self.machine.pause(name)
            self._note(f"pause {kind}")

            def resume() -> None:
                if self.machine.programs[name].pid == pid:
                    self.machine.resume(name)

            self._later(self.random.uniform(0.3, longest), resume)

    def _kill_web(self) -> None:
        self._kill("web")

    def _kill_worker(self) -> None:
        self._kill("worker")

    def _kill_beat(self) -> None:
        self._kill("beat")

    def _kill_sealer(self) -> None:
        self._kill("sealer")

    def _pause_web(self) -> None:
        self._pause("web", 2)

    def _pause_worker(self) -> None:
        self._pause("worker", 5)  # longer than a lease: its late verdicts must be refused

    def _pause_beat(self) -> None:
        self._pause("beat", 3)

    def _pause_sealer(self) -> None:
        self._pause("sealer", 3)

    def _flush(self) -> None:
        if not self._valkey_is_away() and self.machine.flush_valkey():
            self._note("flush valkey")

    def _kill_valkey(self) -> None:
        if not self._valkey_is_away():
            self.machine.kill_valkey()
            self._note("kill valkey")
            self._valkey_back = time.monotonic() + self.random.uniform(0.1, 1.5)
            self._later(self._valkey_back - time.monotonic(), self.machine.start_valkey)

    def _pause_valkey(self) -> None:
        if not self._valkey_is_away():
            self.machine.pause_valkey()
            self._note("pause valkey")
            self._valkey_back = time.monotonic() + self.random.uniform(0.3, 3)
            self._later(self._valkey_back - time.monotonic(), self.machine.resume_valkey)

    _valkey_back = 0.0

    def _valkey_is_away(self) -> bool:
        return time.monotonic() <= self._valkey_back + 0.2

    def _terminate_sessions(self) -> None:
        if self.machine.terminate_sessions():
            self._note("terminate sessions")

    _postgres_quiet = 0.0

    def _restart_postgres(self) -> None:
        if self.machine.postgres is not None and time.monotonic() > self._postgres_quiet:
            self._postgres_quiet = time.monotonic() + 4  # in between something must be able to go wrong
            self.machine.stop_postgres_at_once()
            self._note("restart postgres")
            self._later(self.random.uniform(0.0, 0.5), self.machine.start_postgres)

    def _publish_policy(self) -> None:
        """No fault by itself: the command is made to die while a point of it is missing, and now and then later."""
        if self.machine.command.running:
            return
        missing = [name for name in not_hit(self.machine.points_hit()) if name in points_of(COMMAND)]
        armed = missing[:1] or [self.random.choice((*points_of(COMMAND), ""))]
        document = policy(self.random.choice(("escalate", "escalate", "abort")))
        file = self.machine.folder / "policy.json"
        file.write_text(json.dumps(document))
        self.machine.run_command("policy", "apply", str(file), armed=(armed[0],))
