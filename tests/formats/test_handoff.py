"""`handoff/1`: facts in both vocabularies, and what the two hashes cover."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from checkpoints.canonical import digest, digest_bytes, normalize_claimed
from checkpoints.formats import (
    admit,
    covered_object,
    covered_values,
    expected_fingerprint,
    expected_hash,
    explain_claim,
    hash_of,
    received,
    received_all,
    value_of,
)
from checkpoints.types import Facts, Risk, Severity
from tests.samples import SHARED_DATA, engine_document, enveloped, handoff_document


def facts(document: dict[str, Any]) -> Facts:
    return admit(json.dumps(document).encode()).facts


def test_facts_of_a_flat_document() -> None:
    found = facts(
        handoff_document(
            risk_level="low", approval_ticket_reference="APR-1", attempt=2, human_approval_required=True
        )
    )
    assert (found.agent_id, found.agent_role, found.target_role) == ("intake/1", "intake", "assessor")
    assert (found.task_id, found.task_status) == ("T-1", "in_progress")
    assert found.handoff_reason == "An assessor must look at the photos"
    assert found.user_intent == "Have the car repaired"
    assert found.produced_at == datetime(2026, 11, 30, 12, tzinfo=UTC)
    assert (found.risk_level, found.human_approval_required, found.sender_ticket_reference) == (
        Risk.LOW,
        True,
        "APR-1",
    )
    assert (found.idempotency_key, found.max_retries, found.attempt) == ("session-1:1:T-1", 2, 2)
    assert (found.rollback_notes, found.expected_return) == ("Nothing was written", True)
    assert (found.completed_step_ids, found.call_ids, found.tool_names) == (
        ("read",),
        ("call-1",),
        ("find_claim",),
    )
    assert found.constraints == ("mask_personal_data",)
    assert found.already_committed == ("call-1", "read")
    (decision,) = found.pending_decisions
    assert (decision.decision_id, decision.question, decision.blocking) == ("garage", "Which garage?", False)
    assert (decision.options, decision.pointer) == (("north", "south"), "/pending_decisions/0")
    assert decision.recommendation == "north: free on Monday"
    assert (found.source_id, found.waits_for_person, found.needs_reconciliation) == (None, False, ())


def test_the_envelope_fills_what_the_payload_leaves_out() -> None:
    payload = handoff_document(
        agent_id=..., agent_role=..., handoff_target=..., recovery_instructions=..., timestamp=...
    )
    members = {
        "agent_id": "a/1",
        "agent_role": "a",
        "target_role": "b",
        "handoff_reason": "because",
        "idempotency_key": "k",
        "max_retries": 4,
        "produced_at": "2026-11-30T13:00:00+01:00",
        "approval_ticket_reference": "APR-2",
    }
    found = facts(enveloped(payload, **members))
    assert (found.agent_id, found.agent_role, found.target_role) == ("a/1", "a", "b")
    assert (found.handoff_reason, found.idempotency_key, found.max_retries) == ("because", "k", 4)
    assert (found.produced_at, found.sender_ticket_reference) == (
        datetime(2026, 11, 30, 12, tzinfo=UTC),
        "APR-2",
    )


def test_the_payload_speaks_before_the_envelope() -> None:
    found = facts(enveloped(handoff_document(), agent_role="other", target_role="other", max_retries=9))
    assert (found.agent_role, found.target_role, found.max_retries) == ("intake", "assessor", 2)


def test_the_safer_of_two_contradicting_statements_counts() -> None:
    calm = handoff_document(risk_level="low", human_approval_required=False)
    found = facts(enveloped(calm, risk_level="high", human_approval_required=True))
    assert (found.risk_level, found.human_approval_required) == (Risk.HIGH, True)
    found = facts(enveloped(calm | {"risk_level": "high", "human_approval_required": True}, risk_level="low"))
    assert (found.risk_level, found.human_approval_required) == (Risk.HIGH, True)


def test_the_other_vocabulary_reads_the_same() -> None:
    steps = [{"step_id": "read"}, {"step_id": "weigh"}]
    state = {
        "task_id": "T-9",
        "status": "Awaiting Approval",
        "completed_steps": steps,
        "in_progress_step": None,
    }
    found = facts(
        handoff_document(
            agent_id=...,
            agent_instance_id="i/2",
            task_id=...,
            task_status=...,
            completed_steps=...,
            task_state=state,
        )
    )
    assert (found.agent_id, found.task_id, found.task_status) == ("i/2", "T-9", "awaiting_approval")
    assert found.completed_step_ids == ("read", "weigh")


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("in_progress", "in_progress"),
        ("In Progress", "in_progress"),
        (" BLOCKED ", "blocked"),
        ("awaiting-approval", "awaiting_approval"),
        ("COMPLETED", "completed"),
        ("done", "done"),
        ("APPROVED", "APPROVED"),
        ("", None),
        (1, None),
        (None, None),
        ({}, None),
    ],
)
def test_case_spaces_and_hyphens_of_a_status_are_forgiven(written: Any, read: str | None) -> None:
    assert facts(handoff_document(task_status=written)).task_status == read


@pytest.mark.parametrize(
    ("written", "read"),
    [("low", Risk.LOW), ("Medium", Risk.MEDIUM), ("normal", Risk.MEDIUM), ("HIGH", Risk.HIGH), ("critical", Risk.HIGH),
     ("extreme", None), ("", None), (3, None), (None, None)],
)  # fmt: skip
def test_risk_levels_fold_to_three(written: Any, read: Risk | None) -> None:
    assert facts(handoff_document(risk_level=written)).risk_level is read


@pytest.mark.parametrize(
    ("value", "read"),
    [(0, 0), (7, 7), (10**6, 10**6), (-1, None), (1.0, None), ("3", None), (True, None), (None, None)],
)
def test_only_a_legal_number_of_retries_is_read(value: Any, read: int | None) -> None:
    assert facts(handoff_document(recovery_instructions={"max_retries": value})).max_retries == read


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("2026-11-30T12:00:00Z", timedelta(0)),
        ("2026-11-30t12:00:00.5z", timedelta(seconds=0.5)),
        ("2026-11-30T12:00:00.123456789Z", timedelta(microseconds=123456)),
        ("2026-11-30T14:00:00+02:00", timedelta(0)),
        ("2026-11-30T12:00:00", None),
        ("2026-11-30 12:00:00Z", None),
        ("2026-11-30T12:00:00+25:00", None),
        ("2026-02-30T12:00:00Z", None),
        ("0000-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("2026-11-30T12:00Z", None),
        ("٢٠٢٦-11-30T12:00:00Z", None),
        ("30/11/2026 12:00", None),
        (1796071356, None),
        (None, None),
    ],
)
def test_only_rfc_3339_with_an_offset_is_an_instant(value: Any, read: timedelta | None) -> None:
    expected = None if read is None else datetime(2026, 11, 30, 12, tzinfo=UTC) + read
    assert facts(handoff_document(timestamp=value)).produced_at == expected


def test_a_decision_blocks_unless_it_says_false_or_nothing() -> None:
    written = [True, False, None, "false", 1]
    found = facts(handoff_document(pending_decisions=[{"blocking": value} for value in written] + [{}]))
    assert [item.blocking for item in found.pending_decisions] == [True, False, False, True, True, False]


def test_odd_decisions_are_still_shown() -> None:
    odd = ["text", {"options": [1, "a", {"label": "b"}, {"x": 1}], "question": 5}, None]
    (found,) = facts(handoff_document(pending_decisions=odd)).pending_decisions
    assert (found.decision_id, found.question, found.pointer) == ("", "", "/pending_decisions/1")
    assert found.options == ("1", "a", "b", '{"x":1}')


@pytest.mark.parametrize("member", ["reported_issues", "consistency_issues"])
def test_the_senders_own_issues_are_read_under_either_name(member: str) -> None:
    written = [
        {"code": "HC-31", "severity": "High", "pointer": "/completed_steps", "message": "twice"},
        {"severity": "low", "path": "/a", "message": "m"},
        {"severity": "grave", "message": "n"},
        "just text",
        7,
    ]
    found = facts(handoff_document(**{member: written})).reported_issues
    assert [(item.severity, item.pointer, item.message) for item in found] == [
        (Severity.HIGH, "/completed_steps", "twice"),
        (Severity.LOW, "/a", "m"),
        (Severity.HIGH, f"/{member}/2", "n"),
        (Severity.HIGH, f"/{member}/3", "just text"),
    ]
    assert found[0].code == "HC-31"


def test_the_name_the_sender_used_is_found() -> None:
    document = handoff_document(
        agent_id=..., agent_instance_id="i", task_status=None, task_state={"status": "blocked"}
    )
    found = received(document, {}, "agent_id")
    assert found == ("agent_instance_id", "/agent_instance_id", "i")
    assert received(document, {}, "task_status") == ("status", "/task_state/status", "blocked")
    assert received(document, {"target_role": "x"}, "target_role") == (
        "target_role",
        "/handoff_target/target_role",
        "assessor",
    )
    assert received({}, {"target_role": "x"}, "target_role") == ("target_role", "/target_role", "x")
    assert received({"task_id": None}, {}, "task_id") == ("task_id", "/task_id", None)
    assert received({}, {}, "task_id") is None


def test_all_places_of_a_member_are_found_best_first() -> None:
    document = handoff_document(task_state="completed", agent_instance_id="other")
    assert [found.value for found in received_all(document, {}, "task_status")] == [
        "in_progress",
        "completed",
    ]
    assert [found.name for found in received_all(document, {}, "agent_id")] == [
        "agent_id",
        "agent_instance_id",
    ]
    assert [found.value for found in received_all(document, {"risk_level": "low"}, "risk_level")] == ["low"]


@pytest.mark.parametrize(
    "envelope", [{}, {"target_role": "e", "task_status": {"status": "x"}, "agent_id": None}]
)
@pytest.mark.parametrize(
    "member", ["agent_id", "task_status", "task_id", "target_role", "max_retries", "nothing"]
)
def test_the_short_way_to_a_value_agrees_with_the_long_one(member: str, envelope: dict[str, Any]) -> None:
    for payload in (
        {},
        handoff_document(),
        handoff_document(task_status={"status": "blocked"}, agent_id=None),
    ):
        found = received(payload, envelope, member)
        assert value_of(payload, envelope, member) == (found.value if found else None)


def test_the_hash_covers_five_members_as_received() -> None:
    document = handoff_document()
    covered = covered_object(document, {})
    names = {"checkpoint_id", "task_id", "task_status", "completed_steps", "pending_decisions"}
    assert covered == {name: document[name] for name in names}


def test_the_checkpoint_id_may_come_from_the_envelope() -> None:
    payload = handoff_document(checkpoint_id=...)
    assert "checkpoint_id" not in (covered_object(payload, {}) or {})
    covered = covered_object(payload, {"checkpoint_id": "c"})
    assert covered is not None
    assert covered["checkpoint_id"] == "c"
    assert hash_of(covered) == digest(covered)
    assert "checkpoint_id" not in (covered_object(payload, {"checkpoint_id": None}) or {})


def test_the_task_may_not_come_from_the_envelope() -> None:
    assert covered_object(handoff_document(task_id=...), {"task_id": "T-1"}) is None


@pytest.mark.parametrize("member", ["task_id", "task_status", "completed_steps", "pending_decisions"])
def test_without_a_covered_member_there_is_no_hash(member: str) -> None:
    found = admit(json.dumps(handoff_document(**{member: ...})).encode())
    assert expected_hash(found) is None


def test_the_hash_takes_values_as_received_under_either_vocabulary() -> None:
    both = handoff_document(task_status="In Progress", task_state="completed")
    covered = covered_object(both, {})
    assert covered is not None
    assert covered["task_status"] == "In Progress"
    state = {"task_id": "T-1", "status": "In Progress", "completed_steps": both["completed_steps"]}
    other = handoff_document(task_id=..., task_status=..., completed_steps=..., task_state=state)
    assert covered_object(other, {}) == covered


def test_the_hashes_of_a_document_are_those_it_claims() -> None:
    for document in (handoff_document(), enveloped(handoff_document(checkpoint_id=...))):
        found = admit(json.dumps(document).encode())
        assert expected_hash(found) == found.facts.claimed_hash
        assert expected_fingerprint(found) == found.facts.claimed_fingerprint


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="no sample documents: set SHARED_DATA to read them")
@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("valid", "8dfe82c7ef92fbe7c106158a1475da16decfb1f9ed36896fae1274a0d9dc5355"),
        ("valid_previous", "546e62791259c1b3e9177c4a69eda5698f8067b5d2128995b2f73252e29896d1"),
    ],
)
def test_known_hashes(name: str, written: str) -> None:
    found = admit((SHARED_DATA / "handoff" / f"{name}.json").read_bytes())
    assert expected_hash(found) == normalize_claimed(written) == found.facts.claimed_hash
    assert expected_fingerprint(found) == found.facts.claimed_fingerprint


def test_a_claim_is_explained_for_every_part_of_a_document() -> None:
    document = handoff_document()
    body = json.dumps(document, indent=2).encode()

    def explain(value: Any, **how: Any) -> str:
        return explain_claim(document, body, digest_bytes(json.dumps(value, **how).encode()))

    covered, context = covered_values(document)
    assert covered is not None
    assert explain_claim(document, body, hash_of(covered)) == "rfc8785"
    assert explain_claim(document, body, digest(context)) == "rfc8785"
    assert explain_claim(document, body, digest(document)) == "whole-document"
    assert explain_claim(document, body, digest_bytes(body)) == "as-received"
    assert explain(covered, sort_keys=True) == "json.dumps-sorted"
    assert explain(context) == "json.dumps"
    slice_of_context = json.dumps(context, indent=2).replace("\n", "\n  ").encode()
    assert slice_of_context in body
    assert explain_claim(document, body, digest_bytes(slice_of_context)) == "as-received"
    assert explain_claim(document, body, "0" * 64) == "none"


def test_a_claim_is_explained_for_envelopes_engines_and_plain_values() -> None:
    payload = handoff_document(checkpoint_id=...)
    envelope = enveloped(payload, checkpoint_id="c")
    body = json.dumps(envelope).encode()
    covered, _ = covered_values(envelope)
    assert covered is not None
    assert explain_claim(envelope, body, hash_of(covered)) == "rfc8785"
    assert explain_claim(envelope, body, digest(payload)) == "whole-document"
    assert explain_claim(envelope, body, digest_bytes(json.dumps(payload).encode())) == "as-received"
    engine = engine_document()
    _, context = covered_values(engine)
    assert context == {"messages": engine["messages"], "contextState": engine["contextState"]}
    assert explain_claim(engine, json.dumps(engine).encode(), digest(context)) == "rfc8785"
    assert explain_claim([1.0], b"[1.0]", digest([1])) == "rfc8785"
    assert explain_claim([1.0], b"[1.0 ]", digest_bytes(b"[1.0]")) == "json.dumps"
    assert explain_claim([1.0], b"[1.0 ]", digest_bytes(b"[1.0 ]")) == "as-received"
