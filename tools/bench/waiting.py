"""Two hundred callers that wait for a decision beside plain requests, on the web process as the product starts it."""

from __future__ import annotations

import http.client
import json
import selectors
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

from reviewqueue.up import programs
from tools.bench.documents import of_size, stencil
from tools.bench.figures import ratio, rounds, show
from tools.bench.machine import Machine

WAITERS = 200
ROUNDS = 3
PLAIN = 100  # plain requests of each kind in a round
HANDOFFS = "/api/v1/handoffs/"


class Caller:
    """Asks one after another on one connection."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> bytes:
        self._connection.request(method, path, body, self._headers | headers)
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status // 100 != 2:
            raise RuntimeError(f"{method} {path} was answered {answer.status}: {said[:300]!r}")
        return said


class Waiters:
    """One connection for each handoff, all waiting for its decision."""

    def __init__(self, port: int, token: str, names: list[str], seconds: int) -> None:
        self._selector = selectors.DefaultSelector()
        for name in names:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(
                f"GET {HANDOFFS}{name}?until=decided HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
                f"Authorization: Bearer {token}\r\nPrefer: wait={seconds}\r\n\r\n".encode()
            )
            self._selector.register(connection, selectors.EVENT_READ, name)

    def woken(self, seconds: float) -> Iterator[str]:
        """Names of those whose answer begins to arrive within `seconds`; each is told once."""
        ends = time.perf_counter() + seconds
        while (left := ends - time.perf_counter()) > 0 and self._selector.get_map():
            for key, _ in self._selector.select(left):
                self._selector.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]
                yield key.data


def measure(machine: Machine, seconds: float) -> None:
    """How long a waiter sleeps on after its handoff was cancelled, and what plain requests cost beside 200 waiters."""
    token = machine.token()
    with machine.web() as (port, _), _worker(machine, port):
        caller = Caller(port, token)
        names = _posted(caller)
        idle: dict[str, list[float]] = {"get": [], "post": []}
        beside: dict[str, list[float]] = {"get": [], "post": []}
        plain = _Plain(caller, names[-1])
        plain.measure()
        for _ in rounds(ROUNDS, 60 * seconds):
            for which, found in ((idle, plain.measure()), (beside, _beside(port, token, names, plain))):
                for kind, value in found.items():
                    which[kind].append(value)
        for kind in ("get", "post"):
            show(
                f"plain_{kind}_beside_{WAITERS}_waiters",
                statistics.median(beside[kind]) * 1000,
                "ms",
                ratio_to_idle=ratio(beside[kind], idle[kind]),
                idle_ms=statistics.median(idle[kind]) * 1000,
            )
        _show_waking(_wakes(port, token, caller, names[:WAITERS]))


def _show_waking(slept: list[float]) -> None:
    slept = sorted(slept)
    show(
        "waiter_woken",
        statistics.median(slept) * 1000,
        "ms",
        p99_ms=slept[int(0.99 * len(slept))] * 1000,
        most_ms=slept[-1] * 1000,
        waiters=len(slept),
    )


@contextmanager
def _worker(machine: Machine, port: int) -> Iterator[None]:
    commands = programs.commands(host="127.0.0.1", port=port, threads=1)
    others = [machine.start(commands[name]) for name in ("worker", "beat")]
    try:
        yield
    finally:
        for process in others:
            machine.end(process)


def _posted(caller: Caller) -> list[str]:
    """Ids of handoffs that wait for a person: one for each waiter and one more."""
    cut = stencil(of_size(2048) | {"human_approval_required": True})
    names = []
    for number in range(WAITERS + 1):
        said = caller.ask("POST", "/api/v1/checkpoints", cut.body(number), Prefer="wait=20")
        answer = json.loads(said)
        if answer["state"] != "flagged":
            raise RuntimeError(f"A handoff that asks for approval is {answer['state']}.")
        names.append(answer["checkpoint_id"])
    return names


class _Plain:
    """Reads of one handoff and posts of harmless ones, in turns."""

    def __init__(self, caller: Caller, name: str) -> None:
        self._caller, self._name = caller, name
        self._cut, self._number = stencil(of_size(2048)), 0

    def measure(self) -> dict[str, float]:
        """Median seconds by kind."""
        times: dict[str, list[float]] = {"get": [], "post": []}
        for _ in range(PLAIN):
            body = self._cut.body(self._number)
            self._number += 1
            began = time.perf_counter()
            self._caller.ask("GET", HANDOFFS + self._name)
            read = time.perf_counter()
            self._caller.ask("POST", "/api/v1/checkpoints", body)
            times["get"].append(read - began)
            times["post"].append(time.perf_counter() - read)
        return {kind: statistics.median(found) for kind, found in times.items()}


def _beside(port: int, token: str, names: list[str], plain: _Plain) -> dict[str, float]:
    waiters = _all_waiting(port, token, names[:WAITERS], seconds=20)
    found = plain.measure()
    # A server notices only when it answers that nobody listens any more, so all are waited for.
    answered = list(waiters.woken(60.0))
    if len(answered) != WAITERS:
        raise RuntimeError(
            f"{WAITERS - len(answered)} of {WAITERS} were not answered, or before the measurement."
        )
    return found


def _all_waiting(port: int, token: str, names: list[str], seconds: int) -> Waiters:
    waiters = Waiters(port, token, names, seconds)
    early = list(waiters.woken(2.0))
    if early:
        raise RuntimeError(f"{len(early)} of {len(names)} were answered without a decision.")
    return waiters


def _wakes(port: int, token: str, caller: Caller, names: list[str]) -> list[float]:
    """Seconds from the answer to a cancellation until the one who waits for it hears; all others go on waiting."""
    waiters = _all_waiting(port, token, names, seconds=60)
    slept = []
    for name in names:
        asked = b'{"reason": "Measured long enough"}'
        caller.ask("POST", f"{HANDOFFS}{name}/cancel", asked, **{"Idempotency-Key": f'"cancel-{name}"'})
        cancelled = time.perf_counter()
        woken = next(waiters.woken(10.0), None)
        if woken != name:
            raise RuntimeError(f"The waiter for {name} was not woken, but {woken}.")
        slept.append(time.perf_counter() - cancelled)
    return slept
