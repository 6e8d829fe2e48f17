"""Documents of four frameworks: who hands to whom, what waits for a person, and what was done already."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from checkpoints.formats import FORMATS, admit, revivable_types, revivable_values
from checkpoints.types import Facts, Submission
from tests.samples import enveloped, shared


def read(form: str, payload: dict[str, Any], **members: Any) -> Facts:
    return admit(json.dumps(enveloped(payload, format=form, **members)).encode()).facts


@dataclass(frozen=True)
class Expected:
    """What a reader of the file finds there."""

    sender: str | None
    target: str | None
    status: str
    committed: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    intent: str | None = "I want a refund for order A-1009"
    decision: tuple[str, str, tuple[str, ...]] | None = None
    types: tuple[str, ...] = ()
    source_id: str | None = None


MESSAGES = "langchain.schema.messages."
REFUND = 'Run {}({{"order": "A-1009", "amount": 149.5}})?'
EITHER = ("approve", "reject")
REQUEST = "3587af12-937e-44a0-a2af-1a01c6e3ab00"

FILES = {
    "langgraph_1.json": Expected(
        None,
        "triage",
        "in_progress",
        types=(MESSAGES + "HumanMessage", "msgpack data"),
        source_id="1f1ecfe9-112a-6d66-bfff-4489d86ec0b0",
    ),
    "langgraph_2.json": Expected(
        None,
        "triage",
        "in_progress",
        types=(MESSAGES + "AIMessage", MESSAGES + "HumanMessage", MESSAGES + "ToolMessage", "msgpack data"),
        source_id="1f1ecfe9-112d-6cf9-8000-1382e18190e7",
    ),
    "langgraph_3.json": Expected(
        "triage",
        "billing",
        "in_progress",
        committed=("call_h1",),
        tools=("transfer_to_billing",),
        types=(MESSAGES + "AIMessage", MESSAGES + "HumanMessage", MESSAGES + "ToolMessage", "msgpack data"),
        source_id="1f1ecfe9-1132-6312-8001-ddc7f98d7765",
    ),
    "langgraph_4.json": Expected(
        "billing",
        "approve",
        "awaiting_approval",
        committed=("call_h1",),
        tools=("issue_refund", "transfer_to_billing"),
        decision=("1a262d753a76df3280254313a2b7737e", "Issue the refund?", EITHER),
        types=(
            MESSAGES + "AIMessage",
            MESSAGES + "HumanMessage",
            MESSAGES + "ToolMessage",
            "langgraph.types.Interrupt",
            "msgpack data",
        ),
        source_id="1f1ecfe9-1136-65b5-8002-595268c94b7f",
    ),
    "openai_agents_1.json": Expected(
        "triage",
        "billing",
        "awaiting_approval",
        committed=("call_h1", "call_l1"),
        tools=("issue_refund", "lookup_order"),
        decision=("call_r1", REFUND.format("issue_refund"), EITHER),
    ),
    # The same state after the sender's own state.approve(): nobody is waited for.
    "openai_agents_2.json": Expected(
        "triage",
        "billing",
        "in_progress",
        committed=("call_h1", "call_l1"),
        tools=("issue_refund", "lookup_order"),
    ),
    "ms_agent_framework_1.json": Expected(
        None,
        "triage",
        "in_progress",
        intent=None,
        types=("agent_framework._workflows._runner_context:WorkflowMessage",),
        source_id="18444db0-3c42-44c7-8078-caefd5e09356",
    ),
    "ms_agent_framework_6.json": Expected(
        None,
        None,
        "awaiting_approval",
        intent="I want a refund",
        decision=(
            REQUEST,
            f"The workflow waits for an answer to request {REQUEST}. Its content is a pickled "
            "agent_framework._workflows._events:WorkflowEvent, which is not opened here.",
            (),
        ),
        types=("agent_framework._workflows._events:WorkflowEvent",),
        source_id="f4c886cd-11c0-4815-a515-f4a596a2662f",
    ),
    "google_adk_1.json": Expected(
        "coordinator",
        "billing",
        "awaiting_approval",
        committed=("call_h1",),
        tools=("ask_refund_approval",),
        intent="refund please",
        decision=("call_r1", REFUND.format("ask_refund_approval"), EITHER),
        source_id="065d2c2d-35c2-4913-aa43-adc66c06fcb1",
    ),
}
FORMAT_OF = {
    "langgraph": "langgraph/4",
    "openai": "openai-agents/1",
    "ms": "agent-framework/1",
    "google": "google-adk/1",
}


@pytest.mark.parametrize("file", shared("frameworks"))
def test_real_documents(file: Path) -> None:
    expected = FILES[file.name]
    document = json.loads(file.read_bytes())
    found = read(FORMAT_OF[file.name.split("_")[0]], document)
    assert (found.agent_role, found.target_role, found.task_status) == (
        expected.sender,
        expected.target,
        expected.status,
    )
    assert found.already_committed == found.call_ids == expected.committed
    assert (found.tool_names, found.user_intent) == (expected.tools, expected.intent)
    assert found.waits_for_person == (expected.decision is not None)
    asked = [(item.decision_id, item.question, item.options) for item in found.pending_decisions]
    assert asked == ([expected.decision] if expected.decision else [])
    assert all(item.blocking for item in found.pending_decisions)
    assert revivable_types(document) == expected.types
    assert found.source_id == expected.source_id


@pytest.mark.parametrize("file", shared("frameworks"))
def test_pointers_of_decisions_lead_to_them(file: Path) -> None:
    document = json.loads(file.read_bytes())
    for decision in read(FORMAT_OF[file.name.split("_")[0]], document).pending_decisions:
        place: Any = document
        for token in decision.pointer.split("/")[1:]:
            place = place[int(token)] if isinstance(place, list) else place[token]
        assert decision.decision_id in json.dumps(place) + decision.pointer


def test_the_envelope_speaks_before_the_document() -> None:
    payload = {"current_agent": {"name": "own"}, "original_input": "hello"}
    found = read(
        "openai-agents/1", payload, agent_role="clerk", target_role="desk", task_id="T", risk_level="critical"
    )
    assert (found.agent_role, found.agent_id, found.target_role, found.task_id) == (
        "clerk",
        "own",
        "desk",
        "T",
    )
    assert (found.risk_level, found.user_intent) == ("high", "hello")


def test_a_flat_document_of_a_framework_is_read_too() -> None:
    document = {
        "session_id": "s",
        "format": "openai-agents/1",
        "current_agent": {"name": "own"},
        "agent_role": "clerk",
    }
    found: Submission = admit(json.dumps(document).encode())
    assert (found.form, found.facts.agent_role, found.facts.agent_id) == ("flat", "clerk", "own")


@pytest.mark.parametrize(
    "form", [form for form in FORMATS.values() if form.interpreted], ids=lambda form: form.name
)
def test_an_empty_document_of_any_format_is_read(form: Any) -> None:
    found = read(form.name, {})
    assert not found.waits_for_person
    assert found.pending_decisions == ()


# --- LangGraph ---

TASK = "0f9a"


def graph(*writes: list[Any], **members: Any) -> dict[str, Any]:
    return {"checkpoint": {"id": "c", "channel_values": {}}, "pending_writes": list(writes), **members}


def interrupt(value: Any, **members: Any) -> list[Any]:
    return [TASK, "__interrupt__", [{"value": value, "id": "i-1", **members}]]


def test_an_interrupt_is_answered_once_its_task_wrote() -> None:
    assert read("langgraph/4", graph(interrupt("Go on?"))).waits_for_person
    assert read("langgraph/4", graph([TASK, "__resume__", ["yes"]], interrupt("And now?"))).waits_for_person
    for channel in ("messages", "branch:to:next", "__no_writes__", "__return__"):
        found = read(
            "langgraph/4", graph(interrupt("Go on?"), [TASK, "__resume__", ["yes"]], [TASK, channel, None])
        )
        assert not found.waits_for_person
        assert read("langgraph/4", graph(interrupt("Go on?"), ["other", channel, None])).waits_for_person


@pytest.mark.parametrize(
    ("value", "question", "options"),
    [
        ("Go on?", "Go on?", ()),
        ({"question": "Which?", "options": ["a", "b"]}, "Which?", ("a", "b")),
        ({"message": "Sure?", "choices": ["yes", {"label": "no"}]}, "Sure?", ("yes", "no")),
        ({"amount": 5}, '{"amount": 5}', ()),
        (
            {
                "action_requests": [{"name": "pay", "args": {"sum": 5}}],
                "review_configs": [{"action_name": "pay", "allowed_decisions": ["approve", "edit"]}],
            },
            'Run pay({"sum": 5})?',
            ("approve", "edit"),
        ),
    ],
)
def test_interrupts_ask_in_many_shapes(value: Any, question: str, options: tuple[str, ...]) -> None:
    (found,) = read("langgraph/4", graph(interrupt(value))).pending_decisions
    assert (found.decision_id, found.question, found.options) == ("i-1", question, options)
    snapshot = {"tasks": [{"name": "t", "interrupts": [{"value": value, "id": "i-1"}]}], "next": ["t"]}
    (found,) = read("langgraph/4", graph(**snapshot)).pending_decisions
    assert (found.question, found.pointer) == (question, "/tasks/0/interrupts/0")


@pytest.mark.parametrize(
    ("printed", "decision_id", "question"),
    [
        ("Interrupt(value='It\\'s ok?', id='i')", "i", "It's ok?"),
        ("Interrupt(value=\"It's ok?\", id='i', response_schema=None)", "i", "It's ok?"),
        ("Interrupt(value={'question': 'A\\u00e9\\n?', 'options': ('x',)}, id='i')", "i", "Aé\n?"),
        ("Interrupt(value=Request(order='A'), id='i')", "i", "Request(order='A')"),
        ("Interrupt(value='Go?', resumable=True, ns=['t:1'], when='during')", "", "Go?"),
        ("Interrupt(value='Go?')", "", "Go?"),
        (r"Interrupt(value='nul \x00', id='i')", "i", r"'nul \x00'"),
        ("something else", "", "something else"),
        ("Interrupt(value=" + ", a=b" * 60_000, "", ", a=b" * 59_999 + ", a="),
    ],
    ids=range(9),
)
def test_a_printed_interrupt_is_read_as_text(printed: str, decision_id: str, question: str) -> None:
    write = [TASK, "__interrupt__", [{"lc": 1, "type": "not_implemented", "repr": printed}]]
    (found,) = read("langgraph/4", graph(write)).pending_decisions
    assert (found.decision_id, found.question) == (decision_id, question)


def test_a_snapshot_says_what_comes_next() -> None:
    assert read("langgraph/4", graph(next=[])).task_status == "completed"
    found = read("langgraph/4", graph(next=["pay"], checkpoint={"channel_values": {"active_agent": "clerk"}}))
    assert (found.agent_role, found.target_role, found.task_status) == ("clerk", "pay", "in_progress")


def test_plain_messages_are_read_like_constructors() -> None:
    messages = [
        {"type": "human", "content": [{"type": "text", "text": "Two seats"}]},
        {
            "type": "ai",
            "content": "",
            "tool_calls": [{"name": "find", "id": "1"}, {"name": "book", "id": "2"}],
        },
        {"type": "tool", "name": "find", "tool_call_id": "1", "content": "three"},
    ]
    found = read("langgraph/4", graph(checkpoint={"channel_values": {"messages": messages}}))
    assert (found.user_intent, found.already_committed) == ("Two seats", ("1",))
    assert found.tool_names == ("book", "find")


# --- OpenAI Agents ---


def run_state(**members: Any) -> dict[str, Any]:
    raw = {"call_id": "c1", "name": "pay", "arguments": '{"sum": 5}'}
    step = {
        "type": "next_step_interruption",
        "data": {"interruptions": [{"tool_name": "pay", "raw_item": raw}]},
    }
    return {"current_agent": {"name": "clerk"}, "generated_items": [], "current_step": step, **members}


def test_a_call_waits_until_it_is_approved_or_rejected() -> None:
    (found,) = read("openai-agents/1", run_state()).pending_decisions
    assert (found.decision_id, found.question, found.options) == ("c1", 'Run pay({"sum": 5})?', EITHER)
    assert found.pointer == "/current_step/data/interruptions/0"


@pytest.mark.parametrize("verdict", ["approved", "rejected"])
@pytest.mark.parametrize(
    ("value", "decided"), [(True, True), (["c1"], True), (["c2"], False), (False, False), ([], False)]
)
def test_recorded_verdicts_are_honoured_in_both_shapes(verdict: str, value: Any, decided: bool) -> None:
    for context in (
        {"approvals": {"pay": {verdict: value}}},
        {"function_tool_approvals": [{"tool_key": "pay", "decision": {verdict: value}}]},
    ):
        assert read("openai-agents/1", run_state(context=context)).waits_for_person is not decided
    assert read(
        "openai-agents/1", run_state(context={"approvals": {"other": {verdict: value}}})
    ).waits_for_person


def test_a_final_output_completes_the_task() -> None:
    found = read("openai-agents/1", run_state(current_step={"type": "next_step_final_output"}))
    assert (found.task_status, found.agent_role, found.target_role) == ("completed", "clerk", None)


# --- Microsoft Agent Framework ---


def test_plain_requests_and_messages_are_read() -> None:
    payload = {
        "checkpoint_id": "c",
        "messages": {"clerk": [{"source_id": "clerk", "target_id": "desk", "data": "x"}]},
        "state": {},
        "pending_request_info_events": {
            "r/1": {"source_executor_id": "clerk", "data": {"question": "Pay?", "options": ["yes", "no"]}}
        },
    }
    found = read("agent-framework/1", payload)
    assert (found.agent_role, found.target_role, found.task_status) == ("clerk", "desk", "awaiting_approval")
    (decision,) = found.pending_decisions
    assert (decision.decision_id, decision.question, decision.options) == ("r/1", "Pay?", ("yes", "no"))
    assert decision.pointer == "/pending_request_info_events/r~11"


def test_a_workflow_without_messages_or_requests_is_completed() -> None:
    assert read("agent-framework/1", {"messages": {}, "state": {}}).task_status == "completed"


# --- Google ADK ---


def session(*events: dict[str, Any]) -> dict[str, Any]:
    call = {"id": "c1", "name": "pay", "args": {"sum": 5}}
    asking = {
        "id": "e1",
        "author": "clerk",
        "longRunningToolIds": ["c1"],
        "content": {"parts": [{"functionCall": call}]},
    }
    return {"id": "s", "events": [asking, *events], "lastUpdateTime": 1796071356.5}


def response(author: str, status: str) -> dict[str, Any]:
    body = {"id": "c1", "name": "pay", "response": {"status": status}}
    return {"id": "e2", "author": author, "content": {"parts": [{"functionResponse": body}]}}


@pytest.mark.parametrize(
    ("answers", "waits"),
    [
        ([], True),
        ([("clerk", "pending")], True),
        ([("clerk", "approved")], True),  # only the tool's own receipt
        ([("clerk", "pending"), ("user", "approved")], False),
        ([("user", "In Progress")], True),
        ([("user", "pending"), ("user", "rejected")], False),
    ],
)
def test_a_long_running_call_waits_for_the_users_answer(answers: list[tuple[str, str]], waits: bool) -> None:
    found = read("google-adk/1", session(*(response(*answer) for answer in answers)))
    assert found.waits_for_person is waits
    assert found.already_committed == (() if waits else ("c1",))
    assert found.produced_at == datetime(2026, 11, 30, 20, 42, 36, 500_000, tzinfo=UTC)


def test_snake_case_sessions_are_read_the_same() -> None:
    call = {"id": "c1", "name": "pay", "args": {"sum": 5}}
    events = [
        {"author": "user", "content": {"parts": [{"text": "Pay it"}]}},
        {"author": "clerk", "actions": {"transfer_to_agent": "desk"}},
        {
            "id": "e",
            "author": "desk",
            "long_running_tool_ids": ["c1"],
            "content": {"parts": [{"function_call": call}]},
        },
    ]
    found = read("google-adk/1", {"id": "s", "events": events, "last_update_time": 1796071356})
    assert (found.agent_role, found.target_role, found.source_id) == ("clerk", "desk", "e")
    assert (found.user_intent, found.produced_at is not None) == ("Pay it", True)
    (decision,) = found.pending_decisions
    assert (decision.question, decision.pointer) == (
        'Run pay({"sum": 5})?',
        "/events/2/content/parts/0/function_call",
    )


def test_a_confirmation_asks_about_the_original_call() -> None:
    def asked(**arguments: Any) -> str:
        call = {"id": "c1", "name": "adk_request_confirmation", "args": arguments}
        event = {
            "author": "clerk",
            "longRunningToolIds": ["c1"],
            "content": {"parts": [{"functionCall": call}]},
        }
        (decision,) = read("google-adk/1", {"events": [event]}).pending_decisions
        assert decision.options == EITHER
        return decision.question

    original = {"name": "pay", "args": {"sum": 5}}
    assert asked(originalFunctionCall=original) == 'Run pay({"sum": 5})?'
    assert asked(originalFunctionCall=original, toolConfirmation={"hint": "Pay 5?"}) == "Pay 5?"


@pytest.mark.parametrize("seconds", [1e300, -1e300, True, "1", None, [], 10**15])
def test_impossible_times_read_as_none(seconds: Any) -> None:
    assert read("google-adk/1", {"lastUpdateTime": seconds}).produced_at is None


# --- Values that name classes ---


def test_class_names_are_shown_with_their_places() -> None:
    document: dict[str, Any] = {
        "a/b": [{"__pickled__": "gASV", "__type__": "m:T"}, {"__pickled__": "gASV"}],
        "c": {"serde_type": "msgpack", "base64": "h6F2"},
        "d": {"lc": 1, "type": "constructor", "id": ["x", "Y"], "kwargs": {"py/object": "os.system"}},
        "e": {"$type": "N.T, A"},
    }
    assert [tuple(found) for found in revivable_values(document)] == [
        ("/a~1b/0", "pickle", "m:T"),
        ("/a~1b/1", "pickle", "unnamed"),
        ("/c", "msgpack", "msgpack data"),
        ("/d", "class", "x.Y"),
        ("/d/kwargs", "class", "os.system"),
        ("/e", "class", "N.T, A"),
    ]
    assert revivable_types(document) == ("N.T, A", "m:T", "msgpack data", "os.system", "unnamed", "x.Y")
    assert revivable_values({"id": ["x"], "type": "constructor"}) == ()
