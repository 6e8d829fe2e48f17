"""From bytes to a submission: forms, formats, digests; and that nothing but Refused ever comes out."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints.canonical import canonicalize, digest
from checkpoints.errors import Refused
from checkpoints.formats import FORMATS, admit, reread, unknown_members
from checkpoints.types import Limits
from tests.samples import engine_document, enveloped, handoff_document, shared


def detected(document: dict[str, Any]) -> str:
    return admit(json.dumps(document).encode()).format


def test_a_flat_document_is_its_own_payload() -> None:
    document = handoff_document()
    body = json.dumps(document, indent=1).encode()
    found = admit(body)
    assert (found.form, found.document, found.payload, found.envelope) == ("flat", document, document, {})
    assert found.body_digest == "sha256:" + hashlib.sha256(body).hexdigest()
    assert found.content_digest == "sha256:" + hashlib.sha256(canonicalize(document)).hexdigest()
    assert found.body_size == len(body)


def test_the_content_of_an_envelope_is_its_payload() -> None:
    payload = handoff_document()
    found = admit(json.dumps(enveloped(payload, risk_level="high")).encode())
    assert found.form == "envelope"
    assert found.envelope == {"session_id": "session-1", "risk_level": "high"}
    assert found.content_digest == digest(payload) == admit(json.dumps(payload).encode()).content_digest


@pytest.mark.parametrize("payload", ["text", 5, None, [], True], ids=repr)
def test_a_payload_that_is_no_object_makes_no_envelope(payload: Any) -> None:
    found = admit(json.dumps(handoff_document(payload=payload)).encode())
    assert found.form == "flat"
    assert found.payload["payload"] == payload


@given(data=st.data())
@settings(max_examples=30)
def test_the_order_of_members_changes_the_body_but_not_the_content(data: st.DataObject) -> None:
    document = handoff_document()
    shuffled = dict(data.draw(st.permutations(list(document.items()))))
    found = admit(json.dumps(shuffled).encode())
    assert found.content_digest == digest(document)
    assert found.facts == admit(json.dumps(document).encode()).facts


def test_free_text_is_not_normalised() -> None:
    composed = admit(json.dumps(handoff_document(note="\u00e9")).encode())
    decomposed = admit(json.dumps(handoff_document(note="e\u0301")).encode())
    assert composed.content_digest != decomposed.content_digest


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_that_is_named_is_taken(name: str) -> None:
    assert detected(enveloped({}, format=name)) == name
    assert detected({"session_id": "s", "format": name}) == name


@pytest.mark.parametrize(
    "name", ["handoff/2", "HANDOFF/1", "", "handoff-checkpoint/1", 1, True, [], {}, ["handoff/1"]]
)
def test_an_unknown_format_is_refused(name: Any) -> None:
    for document in (handoff_document(format=name), enveloped({}, format=name)):
        with pytest.raises(Refused) as caught:
            admit(json.dumps(document).encode())
        assert (caught.value.status, caught.value.slug) == (422, "unknown-format")
        assert [error.pointer for error in caught.value.errors] == ["/format"]
        assert all(known in caught.value.detail for known in FORMATS)


def test_a_null_format_is_detected() -> None:
    assert detected(engine_document(format=None)) == "prompty.engine/1"


MARKS = ["runId", "turnId", "contextState", "lastSequence", "stablePrefixMessages", "pendingToolRequests"]


@pytest.mark.parametrize("mark", MARKS)
def test_two_marks_make_an_engine_checkpoint_and_one_does_not(mark: str) -> None:
    other = MARKS[MARKS.index(mark) - 1]
    assert detected({"session_id": "s", mark: None}) == "handoff/1"
    assert detected({"session_id": "s", mark: None, other: None}) == "prompty.engine/1"
    assert detected(enveloped({mark: 1, other: 1})) == "prompty.engine/1"
    assert detected(enveloped({mark: 1}, **{other: 1})) == "handoff/1"


def test_a_session_and_a_title_make_a_session_checkpoint() -> None:
    assert detected({"sessionId": "s", "title": "t"}) == "prompty.session/1"
    assert detected({"sessionId": "s", "title": "t", "session_id": "s"}) == "handoff/1"
    assert detected(enveloped({"sessionId": "session-1", "title": "t"})) == "prompty.session/1"
    assert detected({"sessionId": "s", "session_id": "s"}) == "handoff/1"


def test_members_beyond_the_known_ones_are_named() -> None:
    def unknown(document: dict[str, Any]) -> tuple[str, ...]:
        return unknown_members(admit(json.dumps(document).encode()))

    assert unknown(handoff_document()) == ()
    assert unknown(handoff_document(risk_level="low", source={}, produced_at=None, format="handoff/1")) == ()
    assert unknown(handoff_document(surprise=1, status="approved")) == ("surprise", "status")
    assert unknown(enveloped(handoff_document(surprise=1), verdict=1)) == ("verdict", "surprise")
    assert unknown(engine_document(surprise=1)) == ("surprise",)
    assert unknown(enveloped({"surprise": 1}, format="langgraph/4", approved_by="x")) == ("approved_by",)


@pytest.mark.parametrize("file", shared("handoff"))
def test_real_handoff_documents_are_admitted(file: Path) -> None:
    found = admit(file.read_bytes())
    assert (found.form, found.format) == ("flat", "handoff/1")
    assert found.checkpoint_id == json.loads(file.read_bytes())["checkpoint_id"]
    assert unknown_members(found) == ()


@pytest.mark.parametrize("file", shared("engine"))
def test_real_prompty_documents_are_admitted(file: Path) -> None:
    found = admit(file.read_bytes())
    expected = "prompty.session/1" if file.name.startswith("session") else "prompty.engine/1"
    assert found.format == expected
    assert found.session_id == json.loads(file.read_bytes())["sessionId"]
    assert unknown_members(found) == ()


@pytest.mark.parametrize(
    "document",
    [handoff_document(), enveloped(handoff_document()), engine_document(), {"sessionId": "s", "title": "t"}],
    ids=["flat", "envelope", "engine", "session"],
)
def test_stored_bytes_read_as_they_did_at_admission(document: dict[str, Any]) -> None:
    body = json.dumps(document, indent=2).encode()
    assert reread(body) == admit(body)


def test_stored_bytes_are_read_whatever_the_limits_are_now() -> None:
    body = json.dumps(handoff_document(deep=[[[[[[1]]]]]])).encode()
    with pytest.raises(Refused):
        admit(body, Limits(depth=4))
    assert reread(body) == admit(body)


names = st.sampled_from(
    [
        "payload", "format", "session_id", "checkpoint_id", "handoff_sequence", "sessionId", "title", "runId",
        "turnId", "contextState", "task_status", "task_state", "status", "completed_steps", "pending_decisions",
        "tool_outputs", "context_snapshot", "handoff_target", "recovery_instructions", "reported_issues",
        "consistency_issues", "timestamp", "messages", "parts", "role", "completedToolResults", "outcome",
        "pendingToolRequests", "modelReconciliation", "checkpoint", "channel_values", "versions_seen", "triage",
        "pending_writes", "tasks", "interrupts", "repr", "value", "next", "config", "configurable", "kwargs",
        "current_agent", "name", "generated_items", "type", "raw_item", "current_step", "data", "interruptions",
        "context", "approvals", "function_tool_approvals", "tool_invocations", "original_input", "content",
        "pending_request_info_events", "state", "events", "author", "actions", "functionCall", "args", "id",
        "longRunningToolIds", "functionResponse", "response", "lastUpdateTime", "options", "action_requests",
        "__pickled__", "branch:to:x", "lc", "handoff", "toolRequests", "severity", "risk_level", "text",
    ]
)  # fmt: skip
words = st.sampled_from(
    ["s", "in progress", "High", "2026-11-30T12:00:00Z", "9999-12-31T23:59:59-23:59", "user", "human", "success",
     "tool_approval_item", "handoff_output_item", "__interrupt__", "Interrupt(value={'a': (1,)}, id='x')", "x" * 300]
)  # fmt: skip
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words
    | names
)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6),
    max_leaves=40,
)


@settings(max_examples=80)
@given(form=st.sampled_from([None, *FORMATS]), members=st.dictionaries(names, documents, max_size=8))
def test_a_document_with_a_good_name_is_admitted_whatever_else_it_holds(
    form: str | None, members: dict[str, Any]
) -> None:
    """Reading facts is total: no member of any shape makes admission fail."""
    identity = ("session_id", "sessionId", "checkpoint_id", "handoff_sequence", "payload", "format")
    payload = {name: value for name, value in members.items() if name not in identity}
    for document in (enveloped(payload, format=form), payload | {"session_id": "s", "format": form}):
        body = json.dumps(document).encode()
        found = admit(body)
        assert found.format == form or form is None
        assert reread(body) == found


@settings(max_examples=80)
@given(document=documents)
def test_any_json_value_is_admitted_or_refused(document: Any) -> None:
    body = json.dumps(document).encode()
    with suppress(Refused):
        found = admit(body)
        assert isinstance(document, dict)
        assert reread(body) == found
