"""Bodies to post: clean `handoff/1` documents of a wanted size, or with a wanted number of steps."""

from __future__ import annotations

import json
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any

from checkpoints.canonical import canonicalize, context_fingerprint
from checkpoints.formats import covered_object
from checkpoints.types import JSONObject
from tools.bench.load import HASH, NUMBER, Stencil


def with_steps(count: int) -> JSONObject:
    """A document with `count` completed steps, about 190 bytes each, and one tool output for every four."""
    document: dict[str, Any] = {
        "checkpoint_id": f"checkpoint-{NUMBER}",
        "session_id": f"session-{NUMBER}",
        "handoff_sequence": 1,
        "agent_id": "surveyor/3",
        "agent_role": "surveyor",
        "timestamp": _ago(0),
        "task_id": "ROOF-318",
        "task_status": "in_progress",
        "completed_steps": [_step(number, _ago(count - number + 60)) for number in range(count)],
        "in_progress_step": {
            "step_id": "slope",
            "description": "Measure the slope of the north side",
            "partial_output": None,
            "started_at": _ago(30),
        },
        "pending_decisions": [
            {
                "decision_id": "tiles",
                "question": "Clay or slate?",
                "options": ["clay", "slate"],
                "recommendation": "clay: the neighbours have it",
                "blocking": False,
            }
        ],
        "active_constraints": ["pii_masking", "no_orders_above_5000"],
        "tool_outputs": [
            {
                "tool_name": "read_survey",
                "call_id": f"call-{number}",
                "result_summary": f"Sheet {number}: 12 rafters, two of them damp at the eaves",
                "full_result_reference": f"artifact://roofs/318/sheet-{number}.json",
            }
            for number in range(count // 4)
        ],
        "context_snapshot": {
            "user_intent": "Have the roof mended before winter",
            "key_facts": ["The house stands in Graz", "The insurer pays for storm damage only"],
            "session_highlights": ["The owner sent forty photographs"],
        },
        "handoff_target": {
            "target_role": "estimator",
            "handoff_reason": "The estimator prices what the survey found",
            "expected_return": True,
        },
        "recovery_instructions": {
            "idempotency_key": f"key-{NUMBER}",
            "rollback_notes": "Only looked and measured: nothing to undo",
            "max_retries": 3,
        },
        "human_approval_required": False,
    }
    document["context_fingerprint"] = context_fingerprint(document["context_snapshot"])
    document["consistency_hash"] = HASH
    return document


def of_size(size: int) -> JSONObject:
    """The document with as many steps as fit into `size` bytes."""
    empty, ten = len(_written(with_steps(0))), len(_written(with_steps(40)))
    count = int((size - empty) / ((ten - empty) / 40))
    while len(_written(with_steps(count))) > size:
        count -= 1
    return with_steps(count)


def stencil(document: JSONObject) -> Stencil:
    """Many posts from one document: names and hash differ, everything else and the length stay."""
    covered = covered_object(document, {})
    if covered is None:
        raise ValueError("The document lacks a member that its consistency hash covers.")
    return Stencil(_written(document).decode(), canonicalize(covered).decode(), secrets.token_hex(3))


def sealed(document: JSONObject) -> bytes:
    """One body of the document, its hash right."""
    return stencil(document).body(0)


def _step(number: int, completed_at: str) -> JSONObject:
    return {
        "step_id": f"step-{number}",
        "description": f"Looked at rafter {number} and wrote down its width, age and damage",
        "output_reference": f"artifact://roofs/318/rafter-{number}.json",
        "completed_at": completed_at,
    }


def _ago(seconds: int) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _written(document: JSONObject) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
