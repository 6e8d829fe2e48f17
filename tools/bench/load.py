"""The load: keep-alive connections on plain sockets, in a process of its own, with requests built beforehand.

Closed loop: every connection sends its next request when it has its answer. With `rate`, requests fall due at
fixed times instead, and a latency counts from that time: a slow server cannot slow the questions down.

Imports nothing but the standard library: the process starts at once.
"""

from __future__ import annotations

import collections
import hashlib
import json
import selectors
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_LENGTH = b"\r\ncontent-length:"
NUMBER = "#" * 12  # stands in every name that must differ from post to post
HASH = "0" * 64  # stands where the hash of `covered` belongs


@dataclass(frozen=True)
class Stencil:
    """What posts are cut from: a body, the text that its hash covers, and six characters for the names of this run."""

    text: str
    covered: str
    run: str

    def body(self, number: int) -> bytes:
        """The bytes of post `number`; below 1 000 000 no two are equal."""
        name = f"{self.run}{number:06d}"
        found = hashlib.sha256(self.covered.replace(NUMBER, name).encode()).hexdigest()
        return self.text.replace(NUMBER, name).replace(HASH, found).encode()


@dataclass(frozen=True)
class Load:
    """What to send. `batch` documents stand in one request; 1 means a request of its own, not a batch."""

    port: int
    path: str
    token: str
    stencil: Stencil
    connections: int
    seconds: float = 0.0
    batch: int = 1
    rate: float | None = None  # requests per second; None: as fast as the answers come
    count: int | None = None  # stop after this many requests; None: after `seconds`
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Loaded:
    """What came back: answers with a status of 2xx, the time they took together, and each one's in seconds."""

    answers: int
    seconds: float
    latencies: list[float]
    refused: dict[str, int]  # status to number of answers; a broken connection is "broken"
    last: str  # the last refusal's body

    @property
    def per_second(self) -> float:
        return self.answers / self.seconds

    def quantile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def run(load: Load) -> Loaded:
    """Send the load from another process. Raises RuntimeError where an answer was not 2xx."""
    argv = [sys.executable, "-m", "tools.bench.load"]
    done = subprocess.run(
        argv, input=json.dumps(asdict(load)), capture_output=True, text=True, cwd=ROOT, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"The load generator failed: {done.stderr[-2000:]}")
    loaded = Loaded(**json.loads(done.stdout))
    if loaded.refused or not loaded.answers:
        raise RuntimeError(
            f"{load.path} answered {loaded.answers} times, refused {loaded.refused}: {loaded.last}"
        )
    return loaded


# The process


class Requests:
    """The next request's bytes. What was not built beforehand is built when it is needed."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._stencil = load.stencil
        lines = [
            f"POST {load.path} HTTP/1.1",
            f"Host: 127.0.0.1:{load.port}",
            f"Authorization: Bearer {load.token}",
            "Content-Type: application/json",
            *(f"{name}: {value}" for name, value in load.headers.items()),
        ]
        self._head = ("\r\n".join(lines) + "\r\nContent-Length: ").encode()
        self._built = 0
        beforehand = load.count or int((load.rate or 3000 / load.batch) * load.seconds)
        self._ready = collections.deque(self._build() for _ in range(beforehand))

    def next(self) -> bytes:
        return self._ready.popleft() if self._ready else self._build()

    def _build(self) -> bytes:
        bodies = [self._stencil.body(self._built + number) for number in range(self._load.batch)]
        self._built += self._load.batch
        body = bodies[0] if self._load.batch == 1 else b'{"items":[' + b",".join(bodies) + b"]}"
        return self._head + str(len(body)).encode() + b"\r\n\r\n" + body


class Generator:
    """One run of a load, on one thread."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._requests = Requests(load)
        self._selector = selectors.DefaultSelector()
        self._free: list[socket.socket] = []
        self._due: dict[socket.socket, float] = {}  # of the connections that wait for an answer
        self._received: dict[socket.socket, bytes] = {}
        self._sent = 0
        self._latencies: list[float] = []
        self._refused: collections.Counter[str] = collections.Counter()
        self._last = ""

    def run(self) -> Loaded:
        for _ in range(self._load.connections):
            connection = socket.create_connection(("127.0.0.1", self._load.port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(connection, selectors.EVENT_READ)
            self._free.append(connection)
        began = time.perf_counter()
        while self._send_due(began) or self._due:
            for key, _ in self._selector.select(self._pause(began)):
                self._receive(key.fileobj)  # type: ignore[arg-type]
        seconds = time.perf_counter() - began
        return Loaded(len(self._latencies), seconds, self._latencies, dict(self._refused), self._last)

    def _due_at(self, began: float, now: float) -> float:
        return now if self._load.rate is None else began + self._sent / self._load.rate

    def _pause(self, began: float) -> float | None:
        if self._load.rate is None or not self._free:
            return 1.0
        return max(0.0, self._due_at(began, 0.0) - time.perf_counter())

    def _send_due(self, began: float) -> bool:
        """Send on every free connection what is due. False when nothing more will be."""
        now = time.perf_counter()
        more = self._sent < self._load.count if self._load.count else now - began < self._load.seconds
        while more and self._free and (due := self._due_at(began, now)) <= now:
            connection = self._free.pop()
            connection.sendall(self._requests.next())
            self._due[connection] = due
            self._received[connection] = b""
            self._sent += 1
            more = self._load.count is None or self._sent < self._load.count
        return more

    def _receive(self, connection: socket.socket) -> None:
        data = connection.recv(1 << 20)
        if not data:
            self._refused["broken"] += 1
            self._selector.unregister(connection)
            self._due.pop(connection, None)
            return
        answer = self._received[connection] + data
        head, separator, body = answer.partition(b"\r\n\r\n")
        if not separator or len(body) < _length(head):
            self._received[connection] = answer
            return
        status = head[9:12].decode()
        if status.startswith("2"):
            self._latencies.append(time.perf_counter() - self._due.pop(connection))
        else:
            del self._due[connection]
            self._refused[status] += 1
            self._last = body[:500].decode(errors="replace")
        self._free.append(connection)


def _length(head: bytes) -> int:
    """The body's length. Every server measured here sends Content-Length."""
    _, found, rest = head.lower().partition(_LENGTH)
    if not found:
        raise ValueError(f"An answer without Content-Length: {head[:300]!r}")
    return int(rest.partition(b"\r\n")[0])


if __name__ == "__main__":
    given = json.load(sys.stdin)
    print(json.dumps(asdict(Generator(Load(**given | {"stencil": Stencil(**given["stencil"])})).run())))
