"""Whatever the document holds, the judge answers; and it answers the same for the same content."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.errors import Refused
from checkpoints.formats import FORMATS, admit
from checkpoints.policies import compile_policy, judge
from checkpoints.types import Answer, KnownRun
from tests.checks.cases import CASES
from tests.checks.documents import base, changed, context_for, submission

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12),
    st.sampled_from(
        ["", " ", "completed", "blocked", "high", "2026-03-02T09:00:00Z", "excess", "collect", "intake", "assessor",
         "data:x", "file:///x", "\u202e", "sk-abc", "string, x", "[ROLE_REGISTRY]", "APR-2026-000001", "0" * 64]
    ),
)  # fmt: skip
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=12,
)
ENGINE = {
    "id": "checkpoint-3", "sessionId": "s", "turnId": "t", "runId": "r", "delegationDepth": 0, "iteration": 0,
    "lastSequence": 3, "messages": [], "stablePrefixMessages": 0, "completedModelIterations": 0,
    "reconciliationRequired": False, "finalOutputReady": False, "resumeSameIteration": False,
    "policyAppliedForIteration": False, "contextState": {"portability": "portable"},
    "pendingToolRequests": [{"id": "a", "name": "b"}], "completedToolResults": [{"requestId": "a", "name": "b"}],
}  # fmt: skip
POLICY = compile_policy(
    {
        "roles": {
            "intake": {"capabilities": ["x"], "may_hand_off_to": []},
            "assessor": {"capabilities": ["y"]},
        },
        "required_constraints": {"from": {"intake": ["a"]}, "to": {"assessor": ["b"]}},
        "conflicting_constraints": [["a", "b"]],
        "risk": {"rules": [{"when": {"finding": "HC-18", "tool_name": "x"}, "level": "high"}]},
        "task_id_pattern": "^x$",
        "strict_non_empty": True,
        "max_context_tokens": 10,
        "max_document_bytes": 100,
    },
    1,
)
ANSWER = Answer("excess", "?", (), "x", "c")


@st.composite
def spoiled(draw, whole):
    """A document with up to four members, at any depth, replaced by anything or removed."""
    document = json.loads(json.dumps(whole))
    for _ in range(draw(st.integers(1, 4))):
        holder = document
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(holder[key], dict | list) and holder[key] and draw(st.booleans()):
                holder = holder[key]
                continue
            holder[key] = draw(VALUES)
            break
    return document


def judge_all(document):
    try:
        found = admit(json.dumps(document).encode())
    except Refused:
        return None
    previous = submission(changed())
    context = replace(
        context_for(found, previous=previous),
        policy=POLICY,
        known_ticket=False,
        idempotency_key_used_by="other",
        highest_judged_sequence=9,
        missing_sequences=(1, 2, 5),
        equal_posts=5,
        role_alternations=9,
        foreign_call_ids={"a": "s2", "call-91": "s2"},
        answers={"excess": ANSWER},
        known_runs={"r": KnownRun("r", "s2", "t", "p", 3)},
        same_source_id_digest="sha256:x",
    )
    return found, judge(found, context)


def holds(result):
    if result is None:
        return
    found, judgement = result
    assert judgement.complete, judgement.findings
    for finding in judgement.findings:
        assert CATALOGUE[finding.code].speaks_about(found.format), finding
        assert finding.pointer == "" or finding.pointer.startswith("/") or finding.code == "REP"
        assert len(finding.message) < 2500
    json.dumps([finding.expected for finding in judgement.findings])
    json.dumps([finding.actual for finding in judgement.findings])


@settings(max_examples=150, deadline=None)
@given(
    spoiled(
        base() | {"reported_issues": [{"severity": "low", "message": "m"}], "attempt": 2, "risk_level": "low"}
    )
)
def test_no_spoiled_handoff_makes_the_judge_raise(document):
    holds(judge_all(document))


@settings(max_examples=100, deadline=None)
@given(spoiled(ENGINE | {"session_id": "s"}))
def test_no_spoiled_engine_document_makes_the_judge_raise(document):
    holds(judge_all(document))


ENVELOPE = st.dictionaries(
    st.sampled_from(
        ["risk_level", "target_role", "attempt", "max_retries", "source", "reported_issues", "human_approval_required",
         "approval_ticket_reference", "extra"]
    ),
    VALUES,
    max_size=5,
)  # fmt: skip
PAYLOAD = st.dictionaries(st.one_of(st.sampled_from(sorted(base())), TEXTS), VALUES, max_size=8)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(FORMATS)), PAYLOAD, ENVELOPE)
def test_no_json_of_any_format_makes_the_judge_raise(name, payload, envelope):
    holds(judge_all({**envelope, "session_id": "s", "format": name, "payload": payload}))
    holds(judge_all({**payload, "session_id": "s", "format": name}))


def shuffled(value, chance):
    if isinstance(value, dict):
        names = list(value)
        chance.shuffle(names)
        return {name: shuffled(value[name], chance) for name in names}
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


# The hash of an unsorted serialisation covers the order of the members: HC-13 is about exactly that.
SHUFFLED = [case for case in CASES if case.name != "HC-13"]


@pytest.mark.parametrize("case", SHUFFLED, ids=lambda case: case.name)
def test_the_order_of_members_changes_no_finding(case):
    document = changed(case.fails)
    previous = submission(changed(case.before)) if case.before else None
    found = [
        judge(made, context_for(made, policy=case.policy, previous=previous, **case.known))
        for made in (submission(document), submission(shuffled(document, random.Random(7))))  # noqa: S311
    ]
    assert found[0] == found[1]
