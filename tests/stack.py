"""The real programs on the test's own database and broker: web server, worker, schedule."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import Any

from reviewqueue import processes
from reviewqueue.up import embedded, programs
from reviewqueue.up.children import spawn

ROOT = Path(__file__).resolve().parent.parent


def _lower(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Broker:
    """A Valkey of one test's own, to be killed and paused."""

    def __init__(self, log: Path) -> None:
        self.port, self.password, self.log = embedded.free_port(), "of-one-test", log
        self.start()

    @property
    def url(self) -> str:
        return embedded.valkey_url(port=self.port, password=self.password, number=0)

    def start(self) -> None:
        self.process = embedded.start_valkey(port=self.port, password=self.password, log=self.log)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    @contextlib.contextmanager
    def away(self, how: str) -> Iterator[None]:
        """Dead and started anew afterwards ("kill"), or frozen meanwhile ("pause")."""
        if how == "kill":
            self.stop()
            yield
            self.start()
        else:
            self.process.send_signal(signal.SIGSTOP)
            try:
                yield
            finally:
                self.process.send_signal(signal.SIGCONT)


@dataclass
class Stack:
    """Programs of one database. Each can be started, killed and started again; `logs` is a folder."""

    environment: dict[str, str]
    logs: Path
    port: int = field(default_factory=embedded.free_port)
    token: str = ""
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, **extra: str) -> subprocess.Popen[bytes]:
        arguments = programs.commands(host="127.0.0.1", port=self.port, threads=32)[name]
        environment = os.environ | self.environment | {"PORT": str(self.port), processes.ENVIRONMENT: "1"}
        process = spawn(
            [sys.executable, *arguments],
            log=self.logs / f"{name}.log",
            death_signal=signal.SIGKILL,
            env=environment | {"DJANGO_SETTINGS_MODULE": "tests.settings"} | extra,
            cwd=ROOT,
        )
        self.running[name] = process
        return process

    def kill(self, name: str) -> None:
        """kill -9, and wait until the process is gone."""
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def stop(self) -> None:
        for name in list(self.running):
            self.kill(name)

    def call(
        self,
        method: str,
        path: str,
        body: bytes | Mapping[str, Any] | None = None,
        *,
        timeout: float = 20,
        **headers: str,
    ) -> Answer:
        """One request with this stack's token; a problem is an answer too."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data=data,
            method=method,
            headers={
                "Authorization": f"Bearer {self.token}",
                **({"Content-Type": "application/json"} if data is not None else {}),
                **{name.replace("_", "-"): value for name, value in headers.items()},
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as found:  # noqa: S310
                return Answer(found.status, _lower(found.headers), found.read())
        except urllib.error.HTTPError as problem:
            with problem:
                return Answer(problem.code, _lower(problem.headers), problem.read())

    def post(self, document: Mapping[str, Any] | bytes, **headers: str) -> Answer:
        return self.call("POST", "/api/v1/checkpoints", document, **headers)

    def wait_for_web(self, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        problem = ""
        while time.monotonic() < deadline:
            try:
                if self.call("GET", "/healthz", timeout=5).status < 500:
                    return
            except OSError as error:
                problem = str(error)
            time.sleep(0.1)
        raise AssertionError(f"web did not answer: {problem} {(self.logs / 'web.log').read_text()[-2000:]}")

    def state_of(self, checkpoint_id: str) -> str:
        return str(self.call("GET", f"/api/v1/handoffs/{checkpoint_id}").json["state"])

    def wait_for_state(self, checkpoint_id: str, *states: str, seconds: float = 60) -> str:
        """The first of `states` that the handoff reaches."""
        deadline = time.monotonic() + seconds
        state = ""
        while time.monotonic() < deadline:
            state = self.state_of(checkpoint_id)
            if state in states:
                return state
            time.sleep(0.1)
        raise AssertionError(f"{checkpoint_id} is {state}, not {' or '.join(states)}, after {seconds} s")


@contextlib.contextmanager
def stack(environment: dict[str, str], logs: Path, *names: str, token: str) -> Iterator[Stack]:
    """The named programs, ready; stopped at the end whatever happened."""
    found = Stack(environment, logs, token=token)
    try:
        for name in names:
            found.start(name)
        if "web" in names:
            found.wait_for_web()
        yield found
    finally:
        found.stop()
