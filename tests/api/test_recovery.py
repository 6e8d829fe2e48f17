"""The recovery point of a session: always content that was let through, and one clear next step."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from checkpoints.formats import reread
from checkpoints.handoffs.recovery import Newest, next_step, resume_context
from checkpoints.models import Handoff
from checkpoints.services.policy import publish
from checkpoints.types import State
from reviewqueue.services.deciding import decide, undo
from reviewqueue.services.editing import edit
from tests import characters
from tests.api.calling import CLI, Api, problem
from tests.samples import SHARED_DATA

NOW = datetime(2026, 1, 31, 8, tzinfo=UTC)


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def recovery(api: Api, session_id: str) -> dict[str, Any]:
    response = api.get(f"/api/v1/sessions/{session_id}/recovery")
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


@pytest.mark.parametrize(
    ("newest", "action"),
    [
        (None, "none"),
        (Newest("c", State.RECEIVED), "wait"),
        (Newest("c", State.DISPATCHED, acknowledge_by=NOW), "wait"),
        (Newest("c", State.RECOVERABLE, not_before=NOW + timedelta(seconds=1)), "wait"),
        (Newest("c", State.RECOVERABLE, not_before=NOW), "dispatch"),
        (Newest("c", State.RECOVERABLE), "dispatch"),
        (Newest("c", State.CLEARED), "dispatch"),
        (Newest("c", State.APPROVED), "dispatch"),
        (Newest("c", State.FLAGGED), "review"),
        (Newest("c", State.ESCALATED), "review"),
        (Newest("c", State.REJECTED), "review"),
        (Newest("c", State.ACKNOWLEDGED), "none"),
        (Newest("c", State.ABORTED, advice="restart"), "restart"),
        (Newest("c", State.ABORTED, advice="fallback", fallback_role="legal"), "restart"),
        (Newest("c", State.ABORTED, question="Which card?"), "answer"),
    ],
)
def test_each_position_has_one_next_step(newest: Newest | None, action: str) -> None:
    step = next_step(newest, NOW)
    assert step.action == action
    assert step.reason.endswith((".", "?"))


def test_a_cleared_handoff_is_its_own_recovery_point(api: Api) -> None:
    document = characters.document()
    shown = api.submitted(document)
    found = recovery(api, shown["session_id"])
    assert (found["action"], found["pending"]) == ("dispatch", None)
    assert found["payload"] == document
    assert found["content_digest"] == shown["content_digest"]
    assert (found["revision"], found["next_attempt"], found["retries_left"]) == (1, 1, 2)
    assert found["idempotency_key"] == document["recovery_instructions"]["idempotency_key"]
    assert found["rollback_notes"] == document["recovery_instructions"]["rollback_notes"]
    assert found["already_committed"] == ["read-claim"]
    assert found["needs_reconciliation"] == []
    assert "resume" not in found


def test_in_flight_acknowledged_and_lost_attempts_have_their_steps(api: Api) -> None:
    shown = api.submitted()
    name, session = shown["checkpoint_id"], shown["session_id"]
    api.verb(name, "dispatch")
    assert recovery(api, session)["action"] == "wait"
    api.verb(name, "fail", {"attempt": 1, "kind": "error", "detail": "lost"})
    found = recovery(api, session)
    assert (found["action"], found["next_attempt"], found["retries_left"]) == ("dispatch", 2, 2)
    api.verb(name, "dispatch")
    api.verb(name, "ack", {"attempt": 2})
    found = recovery(api, session)
    assert (found["action"], found["checkpoint_id"]) == ("none", name)


def test_a_newer_handoff_that_waits_is_pending_beside_the_last_good_one(api: Api) -> None:
    first = api.submitted()
    session = first["session_id"]
    api.verb(first["checkpoint_id"], "dispatch")
    api.verb(first["checkpoint_id"], "ack", {"attempt": 1})
    second = api.submitted(
        session_id=session, handoff_sequence=2, human_approval_required=True, task_id="T-2"
    )
    found = recovery(api, session)
    assert (found["action"], found["checkpoint_id"]) == ("review", first["checkpoint_id"])
    assert found["pending"] == {
        "checkpoint_id": second["checkpoint_id"], "handoff_sequence": 2, "state": "flagged",
    }  # fmt: skip
    api.verb(second["checkpoint_id"], "cancel", {"reason": "not wanted"})
    assert (recovery(api, session)["action"], recovery(api, session)["pending"]) == ("none", None)


def test_without_anything_let_through_there_is_no_snapshot(api: Api) -> None:
    shown = api.submitted(human_approval_required=True)
    found = recovery(api, shown["session_id"])
    assert (found["action"], found["payload"], found["checkpoint_id"]) == ("review", None, None)
    assert found["pending"]["checkpoint_id"] == shown["checkpoint_id"]
    api.verb(shown["checkpoint_id"], "cancel", {"reason": "no"})
    assert recovery(api, shown["session_id"])["action"] == "none"


def flagged(api: Api) -> Handoff:
    return characters.flagged(api.owner)


def decided(handoff: Handoff, action: str, **changes: Any) -> Handoff:
    decide(
        handoff_id=handoff.pk,
        reviewer=characters.person(),
        form=characters.form(handoff, action, **changes),
    )
    return characters.reload(handoff)


@pytest.mark.parametrize("advice", ["none", "restart", "fallback"])
def test_an_abort_says_whether_to_start_again(api: Api, advice: str) -> None:
    handoff = decided(flagged(api), "abort", advice=advice)
    found = recovery(api, handoff.session.session_id)
    assert found["action"] == ("none" if advice == "none" else "restart")
    assert found["payload"] is None


def test_a_question_is_handed_on(api: Api) -> None:
    handoff = decided(flagged(api), "send_back", question="Which card was charged?")
    found = recovery(api, handoff.session.session_id)
    assert (found["action"], found["question"]) == ("answer", "Which card was charged?")
    assert "Which card was charged?" in found["reason"]


def test_an_edit_that_nobody_approved_is_no_recovery_point(api: Api) -> None:
    original = characters.document()
    shown = api.submitted(original)
    name = shown["checkpoint_id"]
    api.verb(name, "dispatch")
    api.verb(name, "refuse", {"attempt": 1, "reason": "unclear"})
    handoff = Handoff.objects.get(orchestrator=api.owner, checkpoint_id=name)
    changed = json.loads(json.dumps(original))
    changed["handoff_target"]["handoff_reason"] = "Billing prices repairs and refunds"
    edit(
        handoff_id=handoff.pk,
        reviewer=characters.person(),
        document=json.dumps(changed),
        reason="Clearer",
        content_digest=handoff.content_digest,
        version=handoff.version,
    )
    found = recovery(api, shown["session_id"])
    assert (found["action"], found["revision"], found["payload"]) == ("review", 1, original)
    handoff = decided(characters.reload(handoff), "approve")
    found = recovery(api, shown["session_id"])
    assert (found["action"], found["revision"]) == ("dispatch", 2)
    assert found["payload"]["handoff_target"]["handoff_reason"] == "Billing prices repairs and refunds"
    assert found["content_digest"] == handoff.content_digest


def test_an_approval_taken_back_before_its_use_lets_nothing_through(api: Api) -> None:
    handoff = flagged(api)
    reviewer = characters.person()
    decide(handoff_id=handoff.pk, reviewer=reviewer, form=characters.form(handoff))
    assert recovery(api, handoff.session.session_id)["action"] == "dispatch"
    undo(handoff_id=handoff.pk, reviewer=reviewer)
    found = recovery(api, handoff.session.session_id)
    assert (found["action"], found["payload"]) == ("review", None)


def test_the_fallback_role_comes_from_the_policy(api: Api) -> None:
    roles = {"triage": {}, "billing": {"fallback_role": "legal"}, "legal": {}}
    publish(document={"roles": roles}, actor=CLI)
    try:
        shown = api.submitted()
        assert recovery(api, shown["session_id"])["fallback_role"] == "legal"
    finally:
        publish(document={}, actor=CLI)


def test_an_unknown_session_is_not_found(api: Api) -> None:
    for name in ("nobody", "a b", "%00"):
        problem(api.get(f"/api/v1/sessions/{name}/recovery"), 404, "not-found")
        problem(api.get(f"/api/v1/sessions/{name}"), 404, "not-found")


def engine(**changes: Any) -> dict[str, Any]:
    return {
        "id": "checkpoint-4", "sessionId": characters.fresh("session"), "turnId": "turn-1", "runId": "run-1",
        "delegationDepth": 0, "iteration": 2, "lastSequence": 17, "messages": [], "stablePrefixMessages": 0,
        "completedModelIterations": 3, "reconciliationRequired": False, "finalOutputReady": False,
        "resumeSameIteration": False, "policyAppliedForIteration": False,
        "contextState": {"portability": "portable"},
    } | changes  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "effect"),
    [
        ({}, "next_iteration"),
        ({"resumeSameIteration": True, "policyAppliedForIteration": True}, "same_iteration"),
        ({"finalOutputReady": True, "pendingOutput": "done"}, "commit_output"),
        ({"reconciliationRequired": True, "finalOutputReady": True}, "blocked"),
        ({"pendingToolRequests": [{"id": "call-1", "name": "refund"}]}, "same_iteration"),
    ],
)
def test_an_engine_checkpoint_says_what_a_resume_would_do(changes: dict[str, Any], effect: str) -> None:
    document = engine(**changes)
    found = resume_context(reread(json.dumps(document).encode()))
    assert found is not None
    assert found["resume_effect"] == effect
    assert found["resume"] == {
        "checkpoint": document, "maxIterations": None, "maxModelAttempts": None, "lastJournalSequence": 17,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "last"),
    [
        ({"resume": {"maxIterations": 8, "maxModelAttempts": 3, "lastJournalSequence": 21}}, 21),
        (
            {
                "resume": {"maxIterations": 8, "maxModelAttempts": 3},
                "journal": [{"sequence": 19}, {"sequence": 18}],
            },
            19,
        ),
        ({"resume": {"maxIterations": 8, "maxModelAttempts": 3}, "journal": "none"}, 17),
        ({"resume": {"maxIterations": 8, "maxModelAttempts": 3, "lastJournalSequence": "20"}}, 20),
    ],
)
def test_the_resume_goes_on_after_the_last_event_anybody_knows(source: dict[str, Any], last: int) -> None:
    envelope = {"source": source, "payload": engine()}
    found = resume_context(reread(json.dumps(envelope).encode()))
    assert found is not None
    resume = found["resume"]
    assert isinstance(resume, dict)
    assert (resume["maxIterations"], resume["maxModelAttempts"]) == (8, 3)
    assert resume["lastJournalSequence"] == last


def test_other_formats_have_nothing_to_resume() -> None:
    assert resume_context(reread(json.dumps(characters.document()).encode())) is None


ENGINE_FILES = sorted((SHARED_DATA / "engine").glob("engine_*.json"))


@pytest.mark.skipif(not ENGINE_FILES, reason="the engine's documents are not here")
def test_every_document_of_the_real_engine_can_be_recovered_from() -> None:
    for path in ENGINE_FILES:
        document = json.loads(Path(path).read_text())
        found = resume_context(reread(json.dumps({"payload": document, "session_id": "s"}).encode()))
        assert found is not None
        resume = found["resume"]
        assert isinstance(resume, dict)
        assert resume["lastJournalSequence"] == document["lastSequence"], path.name
        blocked = document["reconciliationRequired"]
        assert (found["resume_effect"] == "blocked") is blocked, path.name


def test_the_snapshot_of_an_engine_brings_its_resume(api: Api) -> None:
    document = engine(
        completedToolResults=[
            {"requestId": "call-1", "name": "refund", "outcome": "success", "output": "ok"},
            {"requestId": "call-2", "name": "mail", "outcome": "failed", "errorKind": "tool_error"},
        ]
    )
    publish(document={"checks": {}}, actor=CLI)
    shown = api.submitted(document)
    found = recovery(api, shown["session_id"])
    if shown["state"] == "cleared":
        assert found["resume"]["checkpoint"] == document
        assert found["already_committed"] == ["call-1", "call-2"]
    else:
        assert found["payload"] is None
