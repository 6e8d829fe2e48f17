"""Orchestrators: ask for an attempt, deliver it once, and report how it ended, or do not."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from tools.chaos.receivers import Receivers
from tools.chaos.wire import Api, Lost

READY = "/api/v1/handoffs?state=cleared&state=approved&state=recoverable&page_size=20&ordering="


class Orchestrator:
    """Several of them look at the same handoffs, so that they ask for the same attempts at the same time."""

    def __init__(self, api: Api, receivers: Receivers, name: str) -> None:
        self.api, self.receivers, self.name = api, receivers, name
        self.random, self.keys = random.Random(name), 0
        self.later: list[tuple[float, Callable[[], object]]] = []  # (unix time, what is due then)

    def run(self) -> None:
        while not self.api.stage.over.is_set():
            busy = self.step()
            self.api.stage.pause(self.random.uniform(0.0, 0.1 if busy else 0.6))

    def step(self) -> bool:
        """What is due, and a handful of the handoffs that can go out. False where nothing can."""
        self._keep_appointments()
        try:
            order = self.random.choice(("received_at", "-received_at"))
            found = self.api.once("GET", READY + order)
        except Lost:
            return False
        ready = [item["checkpoint_id"] for item in found.json["results"]] if found.status == 200 else []
        for checkpoint_id in self.random.sample(ready, min(3, len(ready))):
            self.carry(checkpoint_id)
        return bool(ready)

    def carry(self, checkpoint_id: str) -> None:
        """Ask for an attempt; whoever gets one delivers it exactly once, or never."""
        self.keys += 1
        key = f"{self.name}-{self.keys}"
        path = f"/api/v1/handoffs/{checkpoint_id}/dispatch"
        answer = self.api.insist("POST", path, {}, Idempotency_Key=key)
        if answer is None or answer.status != 200:
            return
        attempt = answer.json
        self._note(attempt, key)
        if self.random.random() < 0.2:
            again = self.api.insist("POST", path, {}, Idempotency_Key=key)
            if again is not None and again.status == 200:
                self.api.journal.append(
                    "repeated", checkpoint_id=checkpoint_id, request_key=key, same=again.json == attempt
                )
        self.random.choices(_FATES, weights=_WEIGHTS)[0](self, attempt)

    def report(self, verb: str, attempt: dict[str, Any], **members: Any) -> int | None:
        """Tell the product how an attempt ended; what was answered 200 is written down."""
        body = members if verb == "cancel" else {"attempt": attempt["attempt"], **members}
        answer = self.api.insist("POST", f"/api/v1/handoffs/{attempt['checkpoint_id']}/{verb}", body)
        if answer is None:
            return None
        if answer.status == 200:
            self.api.journal.append(
                "reported", verb=verb, checkpoint_id=attempt["checkpoint_id"], attempt=attempt["attempt"]
            )
        return answer.status

    def at(self, moment: float, act: Callable[[], object]) -> None:
        self.later.append((moment, act))

    def _keep_appointments(self) -> None:
        due = [item for item in self.later if item[0] <= time.time()]
        self.later = [item for item in self.later if item not in due]
        for _, act in due:
            act()

    def _note(self, attempt: dict[str, Any], key: str) -> None:
        self.api.journal.append(
            "dispatched",
            checkpoint_id=attempt["checkpoint_id"],
            attempt=attempt["attempt"],
            revision=attempt["revision"],
            content_digest=attempt["content_digest"],
            key=attempt["idempotency_key"],
            request_key=key,
            ticket=attempt["approval_ticket"],
        )


type Attempt = dict[str, Any]


def _acknowledge(self: Orchestrator, attempt: Attempt) -> None:
    self.receivers.deliver(attempt)
    for _ in range(self.random.choice((1, 1, 2))):
        self.report("ack", attempt, content_digest=attempt["content_digest"], receiver="reference/1")


def _say_nothing(self: Orchestrator, attempt: Attempt) -> None:
    """The receiver worked, and nobody says so: the deadline ends the attempt, here while somebody looks."""
    self.receivers.deliver(attempt)
    path = f"/api/v1/handoffs/{attempt['checkpoint_id']}"
    self.at(_deadline(attempt) + 0.02, lambda: _look(self, path))


def _look(self: Orchestrator, path: str) -> None:
    self.api.insist("GET", path)


def _acknowledge_late(self: Orchestrator, attempt: Attempt) -> None:
    self.receivers.deliver(attempt)
    moment = _deadline(attempt) + self.random.uniform(0.1, 2)
    self.at(moment, lambda: self.report("ack", attempt, content_digest=attempt["content_digest"]))


def _fail(self: Orchestrator, attempt: Attempt) -> None:
    if self.random.random() < 0.5:
        self.receivers.deliver(attempt)
    kind = self.random.choice(("error", "crashed", "timed_out"))
    self.report("fail", attempt, kind=kind, detail="The receiver broke off")


def _refuse(self: Orchestrator, attempt: Attempt) -> None:
    self.report("refuse", attempt, reason="Not my department")


def _cancel(self: Orchestrator, attempt: Attempt) -> None:
    self.report("cancel", attempt, reason="The customer called it off")


def _acknowledge_other_content(self: Orchestrator, attempt: Attempt) -> None:
    self.report("ack", attempt, content_digest="sha256:" + "0" * 64)


def _acknowledge_unasked(self: Orchestrator, attempt: Attempt) -> None:
    """An attempt that was never given out, then the right one."""
    self.report("ack", {**attempt, "attempt": attempt["attempt"] + 7})
    _acknowledge(self, attempt)


_FATES = (
    _acknowledge, _say_nothing, _acknowledge_late, _fail, _refuse, _cancel, _acknowledge_other_content,
    _acknowledge_unasked,
)  # fmt: skip
_WEIGHTS = (52, 10, 7, 12, 7, 5, 4, 3)


def _deadline(attempt: Attempt) -> float:
    return datetime.fromisoformat(attempt["acknowledge_by"]).timestamp()
