"""The published JSON Schemas agree with what admission and the required members say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from checkpoints.formats import FORMATS, admit, schema
from tests.samples import engine_document, enveloped, handoff_document, shared


def faults(name: str, document: Any) -> list[str]:
    validator = jsonschema_rs.Draft202012Validator(schema(name), pattern_options=jsonschema_rs.RegexOptions())
    return [error.message for error in validator.iter_errors(document)]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_publishes_a_valid_schema(name: str) -> None:
    published = schema(name)
    assert published["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert jsonschema_rs.meta.is_valid(published)
    assert schema(name) is not published
    text = json.dumps(published)
    assert "http" not in text.replace("https://json-schema.org/draft/2020-12/schema", "")


def test_an_unknown_format_has_no_schema() -> None:
    with pytest.raises(KeyError):
        schema("handoff/2")


GOOD: dict[str, tuple[str, Any]] = {
    "flat": ("handoff/1", handoff_document()),
    "other vocabulary": (
        "handoff/1",
        handoff_document(
            agent_id=...,
            agent_instance_id="i",
            task_id=...,
            task_status=...,
            completed_steps=...,
            task_state={"task_id": "T", "status": "blocked", "completed_steps": []},
        ),
    ),
    "nothing optional": (
        "handoff/1",
        handoff_document(
            in_progress_step=None,
            tool_outputs=None,
            approval_ticket_reference=None,
            human_approval_required=None,
            recovery_instructions=None,
            completed_steps=[],
            pending_decisions=[],
            checkpoint_id=None,
            handoff_sequence=...,
        ),
    ),
    "a reference for the context": (
        "handoff/1",
        handoff_document(context_snapshot=...)
        | {"context_reference": "s3://c/1", "context_fingerprint": "A" * 64},
    ),
    "enveloped": ("handoff/1", enveloped(handoff_document(session_id=...))),
    "names in the payload": ("handoff/1", {"payload": handoff_document()}),
    "members in the envelope": (
        "handoff/1",
        enveloped(
            handoff_document(agent_id=..., agent_role=..., handoff_target=..., timestamp=...),
            agent_id="a",
            agent_role="r",
            target_role="t",
            produced_at="2026-11-30T12:00:00Z",
        ),
    ),
    "engine": ("prompty.engine/1", engine_document()),
    "engine with int64 as text": ("prompty.engine/1", engine_document(lastSequence="7")),
    "engine enveloped": ("prompty.engine/1", enveloped(engine_document(), agent_role="clerk")),
    "session": ("prompty.session/1", {"sessionId": "s", "title": "t"}),
    "opaque": ("opaque", enveloped({"anything": [1]}, format="opaque")),
}


@pytest.mark.parametrize("case", GOOD)
def test_good_documents_are_valid_and_admitted(case: str) -> None:
    name, document = GOOD[case]
    assert faults(name, document) == []
    assert admit(json.dumps(document).encode()).format == name


REQUIRED = [
    "agent_role", "agent_id", "task_id", "task_status", "completed_steps", "pending_decisions", "active_constraints",
    "context_snapshot", "context_fingerprint", "consistency_hash", "handoff_target", "timestamp", "session_id",
]  # fmt: skip


@pytest.mark.parametrize("member", REQUIRED)
def test_a_required_member_is_required_in_both_forms(member: str) -> None:
    document = handoff_document()
    del document[member]
    assert faults("handoff/1", document)
    assert faults("handoff/1", {"risk_level": "low", "payload": document})
    assert faults("handoff/1", handoff_document() | {member: None}) or member == "agent_id"


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("session_id", "a/b"),
        ("checkpoint_id", ""),
        ("handoff_sequence", 0),
        ("handoff_sequence", "1"),
        ("agent_role", ""),
        ("task_status", "done"),
        ("task_state", {"status": 5}),
        ("completed_steps", [{"step_id": ""}]),
        ("completed_steps", {}),
        (
            "pending_decisions",
            [{"decision_id": "d", "question": "q", "options": ["a", "b"], "blocking": "false"}],
        ),
        ("timestamp", "2026-11-30T12:00:00+02:00"),
        ("context_fingerprint", "abc"),
        ("risk_level", "extreme"),
        ("human_approval_required", "yes"),
        ("max_retries", -1),
        ("handoff_target", {"target_role": ""}),
        ("format", "opaque"),
    ],
)
def test_wrong_members_are_found(member: str, value: Any) -> None:
    assert faults("handoff/1", handoff_document() | {member: value})


ENGINE_REQUIRED = [name for name in engine_document() if name not in (
    "activeInvocationId", "pendingToolRequests", "completedToolResults", "pendingModelResponse",
)]  # fmt: skip


@pytest.mark.parametrize("member", ENGINE_REQUIRED)
def test_an_engine_member_that_is_required_is_missed(member: str) -> None:
    assert len(ENGINE_REQUIRED) == 15
    assert faults("prompty.engine/1", engine_document(**{member: ...}))
    assert faults("prompty.engine/1", engine_document(**{member: None}))


@pytest.mark.parametrize(
    "changes",
    [
        {"turnId": ""},
        {"delegationDepth": -1},
        {"iteration": 2**31},
        {"iteration": "0"},
        {"lastSequence": 0},
        {"lastSequence": "nine"},
        {"finalOutputReady": "false"},
        {"messages": [{"role": "robot", "parts": [], "metadata": {}}]},
        {"messages": [{"role": "user", "parts": [{"kind": "video"}]}]},
        {"completedToolResults": [{"requestId": "a", "name": "n", "outcome": "maybe"}]},
        {
            "contextState": {
                "portability": "portable",
                "delegatedState": [{"provider": "p", "kind": "k", "id": "i"}],
            }
        },
        {"contextState": {"portability": "delegated", "delegatedState": []}},
        {"contextState": {"portability": "delegated"}},
        {"modelReconciliation": {"invocationId": "i", "failedAttempt": 0, "message": "m"}},
    ],
)
def test_wrong_engine_members_are_found(changes: dict[str, Any]) -> None:
    assert faults("prompty.engine/1", engine_document(**changes))


@pytest.mark.parametrize("file", shared("handoff") + shared("engine"))
def test_real_native_documents_are_valid(file: Path) -> None:
    assert faults(admit(file.read_bytes()).format, json.loads(file.read_bytes())) == []


@pytest.mark.parametrize("file", shared("frameworks"))
def test_real_framework_documents_are_valid_in_an_envelope(file: Path) -> None:
    formats = {"l": "langgraph/4", "o": "openai-agents/1", "m": "agent-framework/1", "g": "google-adk/1"}
    name = formats[file.name[0]]
    document = enveloped(json.loads(file.read_bytes()), format=name)
    assert faults(name, document) == []
    assert faults(name, document | {"format": None, "session_id": ""})
    assert faults(name, enveloped({}, format=name))
