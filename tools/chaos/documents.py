"""Checkpoints as two kinds of agents would send them: harmless, risky, contradictory, and not storable at all."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from checkpoints.canonical import context_fingerprint
from checkpoints.formats import covered_values, hash_of, split

LEDGER: Final = "bookkeeping"
"""The role whose receiver keeps a ledger of the keys it has seen."""
PLAIN: Final = "printing"
"""The role whose receiver does whatever it is sent."""

type Document = dict[str, Any]


def policy(on_expiry: str) -> Document:
    """Deadlines of seconds, so that a run of a minute meets all of them."""
    return {
        "roles": {
            "intake": {"may_hand_off_to": [LEDGER, PLAIN], "fallback_role": PLAIN},
            LEDGER: {"fallback_role": PLAIN},
            PLAIN: {"fallback_role": LEDGER},
        },
        "handoff_timeout_seconds": 2,
        "max_retries": 2,
        "retry_backoff_seconds": [0, 1],
        "approval": {"valid_seconds": 3, "reissue_seconds": 20},
        "review": {
            "deadline_seconds": {"high": 12, "medium": 9, "low": 6},
            "on_expiry": on_expiry,
            "claim_seconds": 3,
        },
    }


@dataclass(frozen=True, slots=True)
class Draft:
    """The bytes to post. `named` says whether they bring their own checkpoint_id."""

    body: bytes
    session_id: str
    named: bool


class Author:
    """Writes documents; the same seed writes the same ones, but for their times."""

    def __init__(self, seed: str) -> None:
        self.random, self.seed, self.count = random.Random(seed), seed, 0

    def session(self) -> str:
        self.count += 1
        return f"s-{self.seed}-{self.count}"

    def draft(self, session_id: str, sequence: int) -> Draft:
        """The checkpoint at `sequence` of a session; sometimes the server is left to name or number it."""
        self.count += 1
        write = self.random.choices(_KINDS, weights=_WEIGHTS)[0]
        document = write(self, session_id)
        named = self.random.random() < 0.7
        if named:
            document["checkpoint_id"] = f"c-{self.seed}-{self.count}"
        if self.random.random() < 0.7:
            document["handoff_sequence"] = sequence
        return Draft(json.dumps(hashed(document)).encode(), session_id, named)

    def not_storable(self) -> bytes:
        """A complete body that admission must refuse and keep."""
        self.count += 1
        return self.random.choice(
            (
                f'{{"session_id": "s-{self.seed}", "cut off {self.count}',
                f'{{"session_id": "", "note": "no name {self.count}"}}',
                f'{{"session_id": "s-{self.seed}", "twice": {self.count}, "twice": 1}}',
            )
        ).encode()

    def other_bytes(self, body: bytes) -> bytes:
        """The same document with one more word: what an edited resubmission looks like."""
        document = json.loads(body)
        document["user_intent"] = "Changed after it was sent"
        return json.dumps(document).encode()

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)


def harmless(author: Author, session_id: str) -> Document:
    at = datetime.now(UTC)
    document: Document = {
        "session_id": session_id,
        "agent_id": "intake/1",
        "agent_role": "intake",
        "timestamp": _time(at),
        "task_id": f"T-{author.count}",
        "task_status": "in_progress",
        "completed_steps": [
            {
                "step_id": "read",
                "description": "Read the order",
                "output_reference": f"artifact://orders/{author.count}/read.json",
                "completed_at": _time(at - timedelta(minutes=3)),
            }
        ],
        "in_progress_step": {
            "step_id": "price",
            "description": "Price the order",
            "partial_output": None,
            "started_at": _time(at - timedelta(minutes=2)),
        },
        "pending_decisions": [],
        "active_constraints": ["mask_personal_data"],
        "tool_outputs": [],
        "context_snapshot": {
            "key_facts": [f"The order has number {author.count}"],
            "user_intent": "Send me the goods",
            "session_highlights": ["The customer confirmed the address"],
        },
        "handoff_target": {
            "target_role": author.pick(LEDGER, PLAIN),
            "handoff_reason": "The order is complete",
            "expected_return": author.random.random() < 0.3,  # and none comes: the sweep must say so
        },
        "recovery_instructions": {"rollback_notes": "Nothing was written", "max_retries": 2},
    }
    if author.random.random() < 0.5:  # else the server derives the key
        document["recovery_instructions"]["idempotency_key"] = f"k-{author.seed}-{author.count}"
    return document


def wrapped(author: Author, session_id: str) -> Document:
    """The same in an envelope."""
    document = harmless(author, session_id)
    return {"session_id": session_id, "format": "handoff/1", "payload": document}


def risky(author: Author, session_id: str) -> Document:
    """Waits for two people."""
    return harmless(author, session_id) | {"risk_level": "high"}


def asking(author: Author, session_id: str) -> Document:
    """Waits for one person because its sender says so."""
    return harmless(author, session_id) | {"human_approval_required": True}


def contradictory(author: Author, session_id: str) -> Document:
    """Completed, with a step in progress."""
    return harmless(author, session_id) | {"task_status": "completed"}


def incomplete(author: Author, session_id: str) -> Document:
    """Stored, and rejected by its checks."""
    document = harmless(author, session_id)
    del document["completed_steps"]
    return document


def engine(author: Author, session_id: str) -> Document:
    """An EngineCheckpoint between two tools of a batch."""
    number = author.count
    calls = [
        {"id": f"call-{number}-a", "name": "find_goods", "arguments": {"order": number}},
        {"id": f"call-{number}-b", "name": "book_van", "arguments": {"stops": 1}},
    ]
    payload: Document = {
        "id": "checkpoint-3",
        "sessionId": session_id,
        "turnId": f"turn-{number}",
        "runId": f"run-{author.seed}-{number}",
        "delegationDepth": 0,
        "iteration": 0,
        "lastSequence": 7,
        "messages": [
            {"role": "system", "parts": [{"kind": "text", "value": "You send goods."}], "metadata": {}},
            {"role": "user", "parts": [{"kind": "text", "value": f"Send order {number}"}], "metadata": {}},
        ],
        "stablePrefixMessages": 1,
        "activeInvocationId": f"invocation-{number}",
        "pendingToolRequests": calls[1:],
        "completedToolResults": [{"requestId": calls[0]["id"], "name": "find_goods", "outcome": "success"}],
        "completedModelIterations": 1,
        "reconciliationRequired": False,
        "finalOutputReady": False,
        "pendingModelResponse": {"toolRequests": calls},
        "resumeSameIteration": False,
        "policyAppliedForIteration": False,
        "contextState": {"portability": "portable", "delegatedState": []},
    }
    return {
        "session_id": session_id,
        "format": "prompty.engine/1",
        "agent_id": "intake/1",
        "agent_role": "intake",
        "target_role": author.pick(LEDGER, PLAIN),
        "task_id": f"T-{number}",
        "max_retries": 2,
        "payload": payload,
    }


def unsure_engine(author: Author, session_id: str) -> Document:
    """An EngineCheckpoint with an effect of unknown outcome: a person has to look it up."""
    document = engine(author, session_id)
    document["payload"]["reconciliationRequired"] = True
    document["payload"]["completedToolResults"][0]["outcome"] = "indeterminate"
    return document


_KINDS: Final[tuple[Callable[[Author, str], Document], ...]] = (
    harmless, wrapped, engine, risky, asking, contradictory, unsure_engine, incomplete,
)  # fmt: skip
_WEIGHTS: Final = (34, 14, 16, 8, 10, 8, 5, 5)


def hashed(document: Document) -> Document:
    """The document with both hashes as its sender's library would compute them."""
    payload, _ = split(document)
    covered, context = covered_values(document)
    if context is not None and document.get("format") != "prompty.engine/1":
        payload["context_fingerprint"] = context_fingerprint(context)
    if covered is not None:
        payload["consistency_hash"] = hash_of(covered)
    return document


def _time(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
