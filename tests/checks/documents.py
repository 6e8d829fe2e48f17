"""A handoff of our own writing, and the ways to change, seal and judge it."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from checkpoints.canonical import context_fingerprint
from checkpoints.checks import runner
from checkpoints.formats import admit, covered_object, hash_of
from checkpoints.policies import compile_policy, judge
from checkpoints.types import CheckContext, Hit, JSONObject, Judgement, Submission

type Change = Callable[[JSONObject], None]

RECEIVED_AT = datetime(2026, 3, 2, 9, 0, 30, tzinfo=UTC)

_BASE: JSONObject = {
    "checkpoint_id": "0195a6f2-4c1e-7b3a-9d55-2f0c8e1b7a64",
    "session_id": "claims-2026-0311",
    "handoff_sequence": 4,
    "agent_id": "intake/2",
    "agent_role": "intake",
    "timestamp": "2026-03-02T09:00:00Z",
    "task_id": "CLM-207",
    "task_status": "in_progress",
    "completed_steps": [
        {
            "step_id": "collect",
            "description": "Collected the damage photos",
            "output_reference": "artifact://claims/207/photos.json",
            "completed_at": "2026-03-02T08:40:00Z",
        },
        {
            "step_id": "policy-lookup",
            "description": "Found the policy of the insured person",
            "output_reference": "s3://claims/207/policy.json",
            "completed_at": "2026-03-02T08:47:30.250Z",
        },
    ],
    "in_progress_step": {
        "step_id": "estimate",
        "description": "Estimate the repair cost",
        "partial_output": None,
        "started_at": "2026-03-02T08:50:00Z",
    },
    "pending_decisions": [
        {
            "decision_id": "excess",
            "question": "Waive the excess?",
            "options": ["waive", "keep", "halve"],
            "recommendation": "keep: no earlier claims",
            "blocking": False,
        }
    ],
    "active_constraints": ["no_payout_above_2000", "pii_masking"],
    "tool_outputs": [
        {
            "tool_name": "find_policy",
            "call_id": "call-91",
            "result_summary": "Policy HH-5520, excess 150 EUR",
            "full_result_reference": "artifact://claims/207/call-91.json",
        }
    ],
    "context_snapshot": {
        "key_facts": ["Water damage in the kitchen", "Policy HH-5520 covers it"],
        "user_intent": "Get the kitchen floor repaired",
        "session_highlights": ["Photos were sent on Sunday"],
    },
    "handoff_target": {
        "target_role": "assessor",
        "handoff_reason": "The estimate needs an assessor",
        "expected_return": True,
    },
    "recovery_instructions": {
        "idempotency_key": "claims-2026-0311:4:CLM-207",
        "rollback_notes": "Look-ups only, nothing to undo",
        "max_retries": 3,
    },
    "human_approval_required": False,
}


def base() -> JSONObject:
    """A clean handoff without its hashes."""
    return deepcopy(_BASE)


def sealed(document: JSONObject) -> JSONObject:
    """The document with hash and fingerprint over what it holds; those it has already stay."""
    payload = document["payload"] if isinstance(document.get("payload"), dict) else document
    assert isinstance(payload, dict)
    if "context_snapshot" in payload:
        payload.setdefault("context_fingerprint", context_fingerprint(payload["context_snapshot"]))
    else:
        payload.setdefault("context_fingerprint", "ab" * 32)
    covered = covered_object(payload, document if payload is not document else {})
    payload.setdefault("consistency_hash", hash_of(covered) if covered else "0a" * 32)
    return document


def changed(*changes: Change) -> JSONObject:
    """The base with changes made to it, then sealed."""
    document = base()
    for change in changes:
        change(document)
    return sealed(document)


def set_at(pointer: str, value: object) -> Change:
    """A change that sets the member at a pointer; the last token `-` appends to a list."""

    def change(document: JSONObject) -> None:
        *path, last = pointer.split("/")[1:]
        holder: Any = document
        for token in path:
            holder = holder[int(token)] if isinstance(holder, list) else holder.setdefault(token, {})
        if isinstance(holder, list):
            holder.append(value) if last == "-" else holder.__setitem__(int(last), value)
        else:
            holder[last] = value

    return change


def without(pointer: str) -> Change:
    """A change that removes the member at a pointer."""

    def change(document: JSONObject) -> None:
        *path, last = pointer.split("/")[1:]
        holder: Any = document
        for token in path:
            holder = holder[int(token)] if isinstance(holder, list) else holder[token]
        if isinstance(holder, list):
            holder.pop(int(last))
        else:
            holder.pop(last, None)

    return change


def all_of(*changes: Change) -> Change:
    def change(document: JSONObject) -> None:
        for one in changes:
            one(document)

    return change


def enveloped(**envelope: object) -> Change:
    """A change that moves the document into an envelope with these members."""

    def change(document: JSONObject) -> None:
        payload = dict(document)
        document.clear()
        document |= {
            "session_id": payload["session_id"],
            "handoff_sequence": payload["handoff_sequence"],
            "checkpoint_id": payload["checkpoint_id"],
            **envelope,
            "payload": payload,
        }

    return change


def submission(document: JSONObject) -> Submission:
    return admit(json.dumps(document).encode())


def context_for(
    found: Submission,
    *,
    policy: JSONObject | None = None,
    previous: Submission | None = None,
    **known: object,
) -> CheckContext:
    values = {
        "received_at": RECEIVED_AT,
        "policy": compile_policy(policy or {}, 1),
        "checkpoint_id": found.checkpoint_id or "0195a6f2-0000-7000-8000-000000000000",
        "handoff_sequence": found.handoff_sequence or 1,
        "previous": previous,
        "previous_sequence": previous.handoff_sequence if previous else None,
    }
    return CheckContext(**(values | known))


def hits(document: JSONObject, **known: object) -> tuple[Hit, ...]:
    found = submission(document)
    return runner.run(found, context_for(found, **known)).hits


def judged(document: JSONObject, **known: object) -> Judgement:
    found = submission(document)
    return judge(found, context_for(found, **known))
