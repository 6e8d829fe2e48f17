"""`prompty.engine/1` and `prompty.session/1`: facts, committed effects, and what a resume would do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from checkpoints.formats import admit, expected_fingerprint, resume_effect
from checkpoints.types import Facts
from tests.samples import engine_document, enveloped, shared


def facts(document: dict[str, Any]) -> Facts:
    return admit(json.dumps(document).encode()).facts


def test_facts_of_an_engine_checkpoint() -> None:
    found = facts(engine_document(parentRunId="run-0", delegationDepth=2))
    assert (found.source_id, found.run_id, found.agent_id, found.turn_id) == (
        "checkpoint-3",
        "run-9c2e",
        "run-9c2e",
        "turn-1",
    )
    assert (found.parent_run_id, found.delegation_depth) == ("run-0", 2)
    assert (found.agent_role, found.target_role, found.task_id) == (None, None, None)
    assert found.user_intent == "Two seats to Linz"
    assert found.tool_names == ("book_seats", "find_trains")
    assert not found.waits_for_person


def test_role_target_and_task_come_from_the_envelope() -> None:
    members = {
        "agent_role": "clerk",
        "agent_id": "clerk/4",
        "target_role": "desk",
        "task_id": "T",
        "risk_level": "high",
    }
    found = facts(enveloped(engine_document(), **members))
    assert (found.agent_role, found.agent_id, found.target_role, found.task_id) == (
        "clerk",
        "clerk/4",
        "desk",
        "T",
    )
    assert (found.risk_level, found.run_id) == ("high", "run-9c2e")
    assert facts(engine_document(agent_role="clerk")).agent_role == "clerk"


def results(*outcomes: tuple[str, str]) -> list[dict[str, str]]:
    return [{"requestId": request, "name": "n", "outcome": outcome} for request, outcome in outcomes]


def test_determined_results_are_committed_and_unknown_ones_need_a_person() -> None:
    found = facts(
        engine_document(
            completedToolResults=results(
                ("a", "success"), ("b", "failed"), ("c", "indeterminate"), ("d", "maybe")
            )
        )
    )
    assert found.already_committed == ("a", "b")
    assert found.needs_reconciliation == ("c",)
    assert found.call_ids == ("a", "b", "c", "d")


def test_an_unknown_model_call_needs_reconciliation() -> None:
    found = facts(
        engine_document(reconciliationRequired=True, modelReconciliation={"invocationId": "invocation-1"})
    )
    assert found.reconciliation_required
    assert found.needs_reconciliation == ("invocation-1",)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "in_progress"),
        ({"finalOutputReady": True}, "completed"),
        ({"reconciliationRequired": True}, "blocked"),
        ({"reconciliationRequired": True, "finalOutputReady": True}, "blocked"),
        ({"finalOutputReady": "true"}, "in_progress"),
    ],
)
def test_the_status_follows_the_flags(changes: dict[str, Any], status: str) -> None:
    assert facts(engine_document(**changes)).task_status == status


IDLE: dict[str, Any] = {"pendingToolRequests": [], "pendingModelResponse": ...}


@pytest.mark.parametrize(
    ("changes", "effect"),
    [
        ({}, "same_iteration"),
        (IDLE, "next_iteration"),
        (IDLE | {"pendingToolRequests": ...}, "next_iteration"),
        (IDLE | {"pendingModelResponse": None}, "next_iteration"),
        (IDLE | {"pendingModelResponse": {}}, "same_iteration"),
        (IDLE | {"resumeSameIteration": True}, "same_iteration"),
        (IDLE | {"finalOutputReady": True}, "commit_output"),
        ({"finalOutputReady": True}, "commit_output"),
        ({"reconciliationRequired": True, "finalOutputReady": True}, "blocked"),
        (IDLE | {"reconciliationRequired": True, "resumeSameIteration": True}, "blocked"),
    ],
)
def test_what_a_resume_would_do(changes: dict[str, Any], effect: str) -> None:
    assert resume_effect(engine_document(**changes)) == effect


# Read from the documents by hand: status, effect of a resume, committed, to reconcile, run and parent.
REAL: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...], str, str | None]] = {
    "engine_1.json": ("in_progress", "same_iteration", (), (), "run-child", "run-parent"),
    "engine_2.json": ("in_progress", "same_iteration", ("call-s",), (), "run-child", "run-parent"),
    "engine_3.json": ("in_progress", "next_iteration", ("call-s",), (), "run-child", "run-parent"),
    "engine_4.json": ("completed", "commit_output", ("call-s",), (), "run-child", "run-parent"),
    "engine_5.json": ("in_progress", "same_iteration", (), (), "run-1", None),
    "engine_6.json": ("in_progress", "same_iteration", ("call-d",), (), "run-1", None),
    "engine_7.json": ("in_progress", "next_iteration", ("call-d",), (), "run-1", None),
    "engine_8.json": ("completed", "commit_output", ("call-d",), (), "run-1", None),
    "engine_9.json": ("completed", "commit_output", (), (), "run-1", None),
    "engine_10.json": ("blocked", "blocked", (), ("invocation-3",), "run-1", None),
    "engine_11.json": ("completed", "commit_output", (), (), "run-1", None),
    "engine_12.json": ("in_progress", "same_iteration", (), (), "run-1", None),
    "engine_py_1.json": ("in_progress", "same_iteration", ("call_1",), (), "run_1", None),
}


@pytest.mark.parametrize("file", shared("engine", "engine_*.json"))
def test_real_engine_checkpoints(file: Path) -> None:
    document = json.loads(file.read_bytes())
    found = admit(file.read_bytes())
    if file.name in REAL:
        status, effect, committed, unknown, run, parent = REAL[file.name]
        assert (found.facts.task_status, resume_effect(document)) == (status, effect)
        assert (found.facts.already_committed, found.facts.needs_reconciliation) == (committed, unknown)
        assert (found.facts.run_id, found.facts.parent_run_id) == (run, parent)
    assert found.facts.source_id == document["id"]
    assert (found.facts.task_status == "completed") == document["finalOutputReady"]
    assert expected_fingerprint(found) is not None


def test_facts_of_a_session_checkpoint() -> None:
    state = {
        "output": None,
        "active_agent": "clerk",
        "toolRequests": [{"toolName": "find"}, {"name": "book"}],
        "handoff": {"to": "desk", "reason": "needs keys"},
    }
    found = facts(
        {
            "id": "c",
            "sessionId": "s",
            "turnId": "t",
            "title": "Two seats",
            "createdAt": "2026-11-30T12:00:00Z",
            "state": state,
        }
    )
    assert (found.source_id, found.turn_id, found.agent_role, found.target_role) == (
        "c",
        "t",
        "clerk",
        "desk",
    )
    assert (found.handoff_reason, found.user_intent) == ("needs keys", "Two seats")
    assert found.tool_names == ("find", "book")
    assert found.produced_at is not None
    assert found.task_status == "in_progress"
