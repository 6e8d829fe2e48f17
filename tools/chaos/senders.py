"""Agents' side: posts checkpoints, repeats what got no answer, and writes down every answer that came."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Sequence

from tools.chaos.documents import Author, Draft
from tools.chaos.wire import Answer, Api


class Sender:
    """One client. Each session is posted in order: the next checkpoint only after the answer to the last."""

    def __init__(self, api: Api, seed: str) -> None:
        self.api, self.author, self.random = api, Author(seed), random.Random(seed)
        self.sent: list[Draft] = []

    def run(self) -> None:
        while not self.api.stage.over.is_set():
            self.step()
            self.api.stage.pause(self.random.uniform(0.0, 0.3))

    def step(self) -> None:
        """One piece of work, chosen at random."""
        acts: Sequence[tuple[int, Callable[[], None]]] = (
            (70, self.session),
            (12, self.batch),
            (8, self.again),
            (5, self.not_storable),
            (5, self.conflict),
        )
        self.random.choices([act for _, act in acts], weights=[weight for weight, _ in acts])[0]()

    def session(self) -> None:
        session_id = self.author.session()
        for sequence in range(1, self.random.randint(1, 3) + 1):
            draft = self.author.draft(session_id, sequence)
            if not self.post(draft):
                return
            self.sent.append(draft)

    def post(self, draft: Draft) -> bool:
        """False where nothing is known of it: the end of the run came first."""
        wait = {"Prefer": "wait=2"} if self.random.random() < 0.2 else {}
        answer = self.api.insist("POST", "/api/v1/checkpoints", draft.body, **wait)
        if answer is None:
            return False
        self._note(draft, answer.status, answer.json)
        return answer.status in (200, 201)

    def batch(self) -> None:
        """One checkpoint of each of some new sessions, in one request."""
        drafts = [self.author.draft(self.author.session(), 1) for _ in range(self.random.randint(2, 6))]
        body = b'{"items": [' + b", ".join(draft.body for draft in drafts) + b"]}"
        answer = self.api.insist("POST", "/api/v1/checkpoints/batch", body)
        if answer is None or answer.status != 200:
            return
        for draft, result in zip(drafts, answer.json["results"], strict=True):
            self._note(draft, result["status"], result.get("handoff") or result["problem"])
        self.sent.extend(drafts)

    def again(self) -> None:
        """Bytes that were answered before."""
        if self.sent:
            self.post(self.random.choice(self.sent))

    def not_storable(self) -> None:
        self._refuse(self.author.not_storable())

    def conflict(self) -> None:
        """Other bytes under an id that is taken."""
        named = [draft for draft in self.sent[-50:] if draft.named]
        if named:
            self._refuse(self.author.other_bytes(self.random.choice(named).body))

    def _refuse(self, body: bytes) -> None:
        answer = self.api.insist("POST", "/api/v1/checkpoints", body)
        if answer is not None:
            self._refused(body, answer, expected=True)

    def _note(self, draft: Draft, status: int, answer: dict[str, object]) -> None:
        if status not in (200, 201):
            self._refused(draft.body, Answer(status, {}, json.dumps(answer).encode()), expected=False)
            return
        self.api.journal.append(
            "stored",
            status=status,
            checkpoint_id=answer["checkpoint_id"],
            session_id=draft.session_id,
            handoff_sequence=answer["handoff_sequence"],
            named=draft.named,
            body_digest=digest(draft.body),
        )

    def _refused(self, body: bytes, answer: Answer, *, expected: bool) -> None:
        self.api.journal.append(
            "refused",
            status=answer.status,
            type=answer.json.get("type"),
            detail=answer.json.get("detail"),
            expected=expected,
            body_digest=digest(body),
        )


def digest(body: bytes) -> str:
    return "sha256:" + hashlib.sha256(body).hexdigest()
