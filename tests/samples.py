"""Documents that tests start from, and the way to those of others that may stand beside the repository."""

from __future__ import annotations

import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from checkpoints.canonical import context_fingerprint
from checkpoints.formats import covered_values, hash_of, split

SHARED_DATA = Path(os.environ.get("SHARED_DATA") or Path(__file__).parents[2] / "shared" / "data")


def shared(folder: str, pattern: str = "*.json") -> list[Any]:
    """The foreign sample files of a folder as parameters; one skipped parameter where they are not here."""
    files = sorted(SHARED_DATA.glob(f"{folder}/{pattern}"))
    if files:
        return [pytest.param(file, id=file.name) for file in files]
    reason = f"no sample files in {folder}: set SHARED_DATA to read them"
    return [pytest.param(None, id="none", marks=pytest.mark.skip(reason=reason))]


def handoff_document(**changes: Any) -> dict[str, Any]:
    """A flat `handoff/1` document without faults; a change to `...` removes the member. Hashes fit the result."""
    document: dict[str, Any] = {
        "checkpoint_id": "0b9d3c1e-52a4-4a52-9f0e-6c1b2f3a4d5e",
        "session_id": "session-1",
        "handoff_sequence": 1,
        "agent_id": "intake/1",
        "agent_role": "intake",
        "timestamp": "2026-11-30T12:00:00Z",
        "task_id": "T-1",
        "task_status": "in_progress",
        "completed_steps": [
            {
                "step_id": "read",
                "description": "Read the claim",
                "output_reference": "artifact://claims/1/read.json",
                "completed_at": "2026-11-30T11:50:00Z",
            }
        ],
        "in_progress_step": {
            "step_id": "assess",
            "description": "Assess the damage",
            "partial_output": None,
            "started_at": "2026-11-30T11:55:00Z",
        },
        "pending_decisions": [
            {
                "decision_id": "garage",
                "question": "Which garage?",
                "options": ["north", "south"],
                "recommendation": "north: free on Monday",
                "blocking": False,
            }
        ],
        "active_constraints": ["mask_personal_data"],
        "tool_outputs": [
            {
                "tool_name": "find_claim",
                "call_id": "call-1",
                "result_summary": "Claim 1, hail, 900 EUR",
                "full_result_reference": "artifact://claims/1/call-1.json",
            }
        ],
        "context_snapshot": {
            "user_intent": "Have the car repaired",
            "key_facts": ["The car stands in Graz"],
            "session_highlights": ["The customer sent three photos"],
        },
        "handoff_target": {
            "target_role": "assessor",
            "handoff_reason": "An assessor must look at the photos",
            "expected_return": True,
        },
        "recovery_instructions": {
            "idempotency_key": "session-1:1:T-1",
            "rollback_notes": "Nothing was written",
            "max_retries": 2,
        },
    }
    return hashed(_changed(document, changes))


def engine_document(**changes: Any) -> dict[str, Any]:
    """An EngineCheckpoint in the middle of a batch of two tools; a change to `...` removes the member."""
    document: dict[str, Any] = {
        "id": "checkpoint-3",
        "sessionId": "session-1",
        "turnId": "turn-1",
        "runId": "run-9c2e",
        "delegationDepth": 0,
        "iteration": 0,
        "lastSequence": 7,
        "messages": [
            {"role": "system", "parts": [{"kind": "text", "value": "You book trains."}], "metadata": {}},
            {"role": "user", "parts": [{"kind": "text", "value": "Two seats to Linz"}], "metadata": {}},
        ],
        "stablePrefixMessages": 1,
        "activeInvocationId": "invocation-1",
        "pendingToolRequests": [{"id": "call-b", "name": "book_seats", "arguments": {"seats": 2}}],
        "completedToolResults": [{"requestId": "call-a", "name": "find_trains", "outcome": "success"}],
        "completedModelIterations": 1,
        "reconciliationRequired": False,
        "finalOutputReady": False,
        "pendingModelResponse": {
            "toolRequests": [
                {"id": "call-a", "name": "find_trains", "arguments": {"to": "Linz"}},
                {"id": "call-b", "name": "book_seats", "arguments": {"seats": 2}},
            ]
        },
        "resumeSameIteration": False,
        "policyAppliedForIteration": False,
        "contextState": {"portability": "portable", "delegatedState": []},
    }
    return _changed(document, changes)


def enveloped(payload: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A document in an envelope of these members."""
    return {"session_id": "session-1", **members, "payload": payload}


def hashed(document: dict[str, Any]) -> dict[str, Any]:
    """The document with its own `context_fingerprint` and `consistency_hash` set right, where they can be."""
    copy = deepcopy(document)
    payload, _ = split(copy)
    covered, context = covered_values(copy)
    if context is not None:
        payload["context_fingerprint"] = context_fingerprint(context)
    if covered is not None:
        payload["consistency_hash"] = hash_of(covered)
    return copy


def _changed(document: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = document | changes
    return {name: value for name, value in merged.items() if value is not ...}
