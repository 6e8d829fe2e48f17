"""Faults that others reported in public, as small documents of our own: each would have been caught here."""

from __future__ import annotations

import json

import pytest

from checkpoints.types import JSONObject
from tests.checks.documents import all_of, base, changed, hits, sealed, set_at, submission, without

STEP = base()["completed_steps"][0]
DECISION = base()["pending_decisions"][0]
OUTPUT = base()["tool_outputs"][0]
TURNS = [f"{who}: {text}" for who, text in zip(["User", "Assistant"] * 4, "abcdefgh", strict=True)]
ROLES: JSONObject = {"roles": {"intake": {}, "assessor": {}}}


def afterwards(change):
    """Seals first and changes then, as a mutable state does that is hashed before it is saved."""
    return all_of(lambda document: sealed(document) and None, change)


ONE_DOCUMENT = {
    "langchain-ai/langgraph#6970 restored values became null": (without("/context_snapshot"), {"HC-01"}),
    "langchain-ai/langgraph#7066 a custom type came back as a raw object": (
        set_at("/completed_steps/0", {"lc": 2, "type": "not_implemented", "id": ["app", "Step"]}),
        {"HC-33"},
    ),
    "langchain-ai/langgraph#6491 an invalid state was saved": (
        set_at("/pending_decisions", "none"),
        {"HC-03"},
    ),
    "langchain-ai/langgraph#6626 parallel interrupts with one id": (
        set_at("/pending_decisions/-", DECISION | {"question": "Pay the plumber?"}),
        {"HC-35"},
    ),
    "langchain-ai/langgraph#7714 the state is many times too large": (
        set_at("/context_snapshot/key_facts", ["a fact that repeats itself"] * 12_000),
        {"HC-07", "HC-71"},
    ),
    "langchain-ai/langgraph#3717 tool messages overflow the context": (
        all_of(
            set_at("/tool_outputs/0/result_summary", "\n".join(f"row {number}" for number in range(200))),
            set_at("/context_snapshot/key_facts", [f"row {number} of the table" for number in range(900)]),
        ),
        {"HC-59", "HC-71"},
    ),
    "bytedance/deer-flow#3011 images inside the checkpoint": (
        set_at("/tool_outputs/0/full_result_reference", "data:image/png;base64," + "iVBORw0KGgo" * 30_000),
        {"HC-07", "HC-57"},
    ),
    "langchain-ai/langgraph#8522 a stored checkpoint was tampered with": (
        afterwards(set_at("/completed_steps/0/output_reference", "artifact://evil/1")),
        {"HC-11"},
    ),
    "openai/openai-agents-js#701 calls doubled after a resume": (
        set_at("/tool_outputs/-", OUTPUT),
        {"HC-56"},
    ),
    "openai/openai-agents-python#5141 two agents under one name": (
        set_at("/agent_instance_id", "intake/9"),
        {"HC-65"},
    ),
    "openai/openai-agents-python#2254 items doubled for the next agent": (
        all_of(
            set_at("/completed_steps/-", STEP | {"completed_at": "2026-03-02T08:59:00Z"}),
            set_at("/tool_outputs/-", OUTPUT),
            set_at("/context_snapshot/session_highlights", TURNS),
        ),
        {"HC-31", "HC-56", "HC-73"},
    ),
    "openai/openai-agents-python#2500 the approval comes round for ever": (set_at("/attempt", 9), {"HC-69"}),
    "openai/openai-agents-python#4896 the policy changed while the run was paused": (
        set_at("/active_constraints", []),
        {"HC-54"},
    ),
    "microsoft/agent-framework#4793 agents made anew with other ids": (
        set_at("/agent_role", "intake-5f2c"),
        {"HC-61"},
    ),
    "microsoft/agent-framework#3938 a retry repeats the refund": (
        set_at("/recovery_instructions/idempotency_key", None),
        {"HC-66"},
    ),
    "crewAIInc/crewAI#5802 a task is retried with its tools": (
        without("/recovery_instructions"),
        {"HC-66", "HC-70"},
    ),
    "ag-ui-protocol/ag-ui#1074 responses stored twice": (set_at("/tool_outputs/-", OUTPUT), {"HC-56"}),
    "Q00/ouroboros#1896 hashed before the state changed": (
        afterwards(set_at("/task_status", "blocked")),
        {"HC-11"},
    ),
    "agentrust-io/agent-manifest#352 another serialiser": (
        lambda document: document.__setitem__("consistency_hash", _python_hash(document)),
        {"HC-13"},
    ),
}
TWO_DOCUMENTS = {
    "langchain-ai/langgraph#6624 only one of two interrupts surfaced": (
        set_at("/pending_decisions", [DECISION | {"blocking": True}]),
        set_at("/pending_decisions", []),
        {"HC-51"},
    ),
    "microsoft/agent-framework#2667 the restored conversation lost its work": (
        all_of(),
        set_at("/completed_steps", []),
        {"HC-47"},
    ),
    "jsboige/CoursIA#7701 a restored list was changed in place": (
        all_of(),
        set_at("/completed_steps/1/description", "Found another policy"),
        {"HC-48"},
    ),
    "google/adk-python#3717 a stale session was written": (
        set_at("/timestamp", "2026-03-02T09:20:00Z"),
        all_of(),
        {"HC-44"},
    ),
}


def _python_hash(document):
    import hashlib

    from checkpoints.formats import covered_object

    return hashlib.sha256(json.dumps(covered_object(document, {}), sort_keys=True).encode()).hexdigest()


@pytest.mark.parametrize("report", ONE_DOCUMENT)
def test_a_reported_fault_is_found_in_one_document(report):
    change, codes = ONE_DOCUMENT[report]
    policy = ROLES | {"required_constraints": {"from": {"intake": ["pii_masking"]}}}
    assert codes <= {hit.code for hit in hits(changed(change), policy=policy)}


@pytest.mark.parametrize("report", TWO_DOCUMENTS)
def test_a_reported_fault_is_found_against_the_predecessor(report):
    before, now, codes = TWO_DOCUMENTS[report]
    earlier = submission(changed(before, set_at("/handoff_sequence", 3)))
    assert codes <= {hit.code for hit in hits(changed(now), previous=earlier)}
