"""Four EngineCheckpoints of our own and the means to change and judge them.

A florist's agent takes an order: `mid_batch` (one tool done, one pending), `final` (output ready), `unknown_model`
(the model's outcome must be reconciled) and `policy` (a host policy rewrote the conversation before the model call).
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from checkpoints.checks import engine, engine_history
from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.formats import admit
from checkpoints.types import CheckContext, CheckPolicy, Hit, Limits, Severity, Submission

DROP: Any = object()
"""As a value of `changed`: remove the member or element."""

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
WIDE = Limits(body_bytes=64 << 20, depth=64, values=4_000_000)

type Document = dict[str, Any]
type Changes = Mapping[str, Any]


def message(role: str, text: str, **metadata: str) -> Document:
    return {"role": role, "parts": [{"kind": "text", "value": text}], "metadata": metadata}


def request(name: str, tool: str, **arguments: Any) -> Document:
    return {"id": name, "name": tool, "arguments": arguments}


def result(name: str, tool: str, outcome: str = "success", **members: Any) -> Document:
    return {"requestId": name, "name": tool, "outcome": outcome, **members}


def _turn(**members: Any) -> Document:
    return {
        "id": "cp-rose",
        "sessionId": "s-garden",
        "turnId": "t1",
        "runId": "r1",
        "delegationDepth": 0,
        "iteration": 0,
        "lastSequence": 9,
        "messages": [
            message("system", "You take orders for flowers."),
            message("user", "Twelve roses for Friday."),
        ],
        "stablePrefixMessages": 1,
        "inputs": {"shop": "north", "order": "F-12"},
        "activeInvocationId": "inv_1",
        "pendingToolRequests": [],
        "completedToolResults": [],
        "completedModelIterations": 1,
        "reconciliationRequired": False,
        "finalOutputReady": False,
        "resumeSameIteration": False,
        "policyAppliedForIteration": False,
        "contextState": {"portability": "portable", "delegatedState": []},
        **members,
    }


def mid_batch() -> Document:
    """Two tools asked for, the first done."""
    return _turn(
        pendingToolRequests=[request("call_b", "book_van", day="Friday", stops=1)],
        completedToolResults=[result("call_a", "check_stock", output={"roses": 40})],
        pendingModelResponse={
            "usage": {"inputTokens": 50, "outputTokens": 12, "totalTokens": 62},
            "assistantMessages": [message("assistant", "I look and book.")],
            "toolRequests": [
                request("call_a", "check_stock", flower="rose"),
                request("call_b", "book_van", day="Friday", stops=1),
            ],
        },
    )


def final() -> Document:
    """A second round gave the answer; the first one's batch stands in the conversation."""
    return _turn(
        id="cp-done",
        iteration=1,
        lastSequence=21,
        messages=[
            *_turn()["messages"],
            message("assistant", "I look."),
            message("tool", '{"roses": 40}', tool_call_id="c1"),
            message("assistant", "Forty in stock, yours are kept."),
        ],
        activeInvocationId="inv_2",
        completedToolResults=[result("c1", "check_stock", output={"roses": 40})],
        completedModelIterations=2,
        pendingOutput="Forty in stock, yours are kept.",
        finalOutputReady=True,
    )


def unknown_model() -> Document:
    """The provider's stream broke: nobody knows whether the model answered."""
    turn = _turn(lastSequence=5, completedModelIterations=0, reconciliationRequired=True)
    turn["modelReconciliation"] = {
        "invocationId": "inv_1",
        "request": {
            "context": {
                "id": "context:inv_1",
                "sessionId": "s-garden",
                "turnId": "t1",
                "invocationId": "inv_1",
                "iteration": 0,
                "messages": copy.deepcopy(turn["messages"]),
                "decisions": [
                    {"candidateId": "m1", "disposition": "included", "reason": "history", "rank": 0},
                    {"candidateId": "m2", "disposition": "excluded", "reason": "too old"},
                ],
                "stablePrefixMessages": 1,
                "contextState": {"portability": "portable"},
            }
        },
        "failedAttempt": 0,
        "message": "the stream ended before its last event",
        "metadata": {"providerResponseId": "resp_9"},
    }
    return turn


def policy() -> Document:
    """Written after a host policy added a message and before the model is called."""
    turn = _turn(
        lastSequence=2, completedModelIterations=0, resumeSameIteration=True, policyAppliedForIteration=True
    )
    turn["messages"].append(message("user", "[shop] keep it short"))
    del turn["activeInvocationId"]
    return turn


def changed(document: Document, changes: Changes) -> Document:
    """A copy with the values at these JSON pointers set, `/-` appended, or removed with DROP."""
    copied = copy.deepcopy(document)
    for pointer, value in changes.items():
        *path, last = pointer.split("/")[1:]
        holder: Any = copied
        for part in path:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        if isinstance(holder, list) and last == "-":
            holder.append(value)
            continue
        key: Any = int(last) if isinstance(holder, list) else last
        if value is DROP:
            del holder[key]
        else:
            holder[key] = value
    return copied


def submitted(document: Document, limits: Limits = WIDE) -> Submission:
    """A flat document, or an envelope, as the first gate reads it."""
    return admit(json.dumps(document).encode(), limits)


def enveloped(document: Document, **envelope: Any) -> Submission:
    return submitted(
        {"format": "prompty.engine/1", "session_id": document["sessionId"], **envelope, "payload": document}
    )


def context(**members: Any) -> CheckContext:
    return CheckContext(
        received_at=NOON, policy=CheckPolicy(), checkpoint_id="cp-9", handoff_sequence=2, **members
    )


def hits(submission: Submission, **members: Any) -> list[Hit]:
    """What the two engine families say, unguarded: a check that raises fails the test."""
    return list(_hits(submission, context(**members)))


def _hits(submission: Submission, given: CheckContext) -> Iterator[Hit]:
    checks: tuple[Callable[..., Any], ...] = (*engine.CHECKS, *engine_history.CHECKS)
    for check in checks:
        yield from check(submission, given)


def severity(hit: Hit) -> Severity:
    return hit.severity or CATALOGUE[hit.code].severity


def spoken(found: list[Hit]) -> list[tuple[str, str, str]]:
    """(code, severity, pointer) of each hit, in the order of the codes."""
    return sorted((hit.code, str(severity(hit)), hit.pointer) for hit in found)
