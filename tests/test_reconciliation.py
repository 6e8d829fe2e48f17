"""Effects of unknown outcome: who looked them up leaves the list, and only what did not happen may run."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from checkpoints.errors import InvalidInput
from checkpoints.formats import reread, resume_effect
from checkpoints.handoffs.reconciling import effect_of_resume, effects
from checkpoints.models import Orchestrator
from checkpoints.services import attempts
from checkpoints.services.recovery import recovery
from reviewqueue.models import Role
from reviewqueue.services.deciding import decide, undo
from tests import characters
from tests.samples import engine_document, enveloped, shared

type Document = dict[str, Any]

CALLS = [
    {"id": "call-a", "name": "find_trains", "arguments": {"to": "Linz"}},
    {"id": "call-b", "name": "book_seats", "arguments": {"seats": 2}},
    {"id": "call-c", "name": "send_mail", "arguments": {"to": "us"}},
]


def unknown(*ids: str, **changes: Any) -> Document:
    """A batch of three tools; those of `ids` have an unknown outcome, the others succeeded."""
    outcomes = {call["id"]: "indeterminate" if call["id"] in ids else "success" for call in CALLS}
    results = [
        {
            "requestId": call["id"],
            "name": call["name"],
            "outcome": outcomes[str(call["id"])],
            **({"errorKind": "effect_outcome_unknown"} if call["id"] in ids else {}),
        }
        for call in CALLS
    ]
    members: Document = {
        "sessionId": characters.fresh("session"),
        "runId": characters.fresh("run"),
        "completedToolResults": results,
        "pendingToolRequests": [],
        "pendingModelResponse": {"toolRequests": CALLS},
        "reconciliationRequired": True,
    }
    return engine_document(**{**members, **changes})


def unknown_model_call(**changes: Any) -> Document:
    session = characters.fresh("session")
    document = engine_document(
        sessionId=session,
        runId=characters.fresh("run"),
        completedToolResults=[],
        pendingToolRequests=[],
        pendingModelResponse=...,
        completedModelIterations=0,
        reconciliationRequired=True,
    )
    context = {
        "id": "context:invocation-1",
        "sessionId": session,
        "turnId": document["turnId"],
        "invocationId": "invocation-1",
        "iteration": 0,
        "messages": document["messages"],
        "stablePrefixMessages": 1,
        "contextState": document["contextState"],
    }
    document["modelReconciliation"] = {
        "invocationId": "invocation-1",
        "request": {"context": context},
        "failedAttempt": 0,
        "message": "The connection broke while the answer was streamed",
    }
    return document | changes


OWN = [
    unknown("call-b"),
    unknown("call-b", "call-c"),
    unknown("call-a", "call-b", "call-c"),
    unknown("call-b", pendingModelResponse=...),
    unknown("call-b", pendingModelResponse=..., pendingToolRequests=[CALLS[2]]),
    unknown("call-b", finalOutputReady=True, pendingOutput="Booked"),
    unknown("call-b", resumeSameIteration=True),
    unknown_model_call(),
]


def successor(document: Document, outcomes: dict[str, str]) -> Document:
    """The checkpoint that an engine writes once these outcomes are known, made without the code under test."""
    after = copy.deepcopy(document)
    after["reconciliationRequired"] = False
    model = after.pop("modelReconciliation", None)
    if model is not None:
        if outcomes[model["invocationId"]] == "happened":  # its response is found and kept
            after["pendingModelResponse"] = {"output": "Found in the provider's log"}
        else:
            after["resumeSameIteration"] = True
    kept, again = [], []
    for result in after.get("completedToolResults", []):
        outcome = outcomes.get(result["requestId"], "") if result["outcome"] == "indeterminate" else ""
        if outcome == "did_not_happen":
            again.append({"id": result["requestId"], "name": result["name"], "arguments": {}})
        else:
            kept.append({**result, "outcome": "success"} if outcome else result)
    after["completedToolResults"] = kept
    after["pendingToolRequests"] = again + after.get("pendingToolRequests", [])
    return after


def every_answer(ids: tuple[str, ...]) -> list[dict[str, str]]:
    return [
        dict(zip(ids, chosen, strict=True))
        for chosen in itertools.product(("happened", "did_not_happen"), repeat=len(ids))
    ]


def check_all_answers(document: Document) -> int:
    """Of one document, with every possible set of answers. Returns how many there were."""
    submission = reread(json.dumps(enveloped(document)).encode())
    facts, ids = submission.facts, submission.facts.needs_reconciliation
    wanted = every_answer(ids) if ids else []
    for outcomes in wanted:
        found = effects(facts, outcomes)
        assert found.unknown == ()
        assert set(found.committed) == {
            *facts.already_committed,
            *(key for key, outcome in outcomes.items() if outcome == "happened"),
        }
        after = successor(document, outcomes)
        assert effect_of_resume(document, facts, outcomes) == resume_effect(after)
        follower = reread(json.dumps(enveloped(after)).encode()).facts
        assert follower.needs_reconciliation == ()
        assert set(follower.already_committed) == set(found.committed) - (
            {document["modelReconciliation"]["invocationId"]} if "modelReconciliation" in document else set()
        )
    for outcomes in wanted:
        for left_out in outcomes:
            some = {key: outcome for key, outcome in outcomes.items() if key != left_out}
            assert effects(facts, some).unknown == (left_out,)
            assert effect_of_resume(document, facts, some) == "blocked"
    return len(wanted)


@pytest.mark.parametrize("document", OWN, ids=range(len(OWN)))
def test_every_set_of_answers_leads_where_the_engine_s_next_checkpoint_does(document: Document) -> None:
    assert check_all_answers(document) >= 2


@pytest.mark.parametrize("path", shared("engine", "engine_*.json"))
def test_the_same_holds_for_documents_of_the_real_engine(path: Path) -> None:
    document = json.loads(path.read_text())
    answered = check_all_answers(document)
    assert bool(answered) is document["reconciliationRequired"]
    for outcomes in every_answer(reread(json.dumps(enveloped(document)).encode()).facts.needs_reconciliation):
        after = successor(document, outcomes)
        assert check_all_answers(after) == 0
        assert resume_effect(after) != "blocked"


@pytest.mark.parametrize("path", shared("engine", "engine_*.json"))
def test_a_real_document_made_uncertain_keeps_every_rule(path: Path) -> None:
    """Each result of the turn in turn becomes one whose outcome nobody knows."""
    document = json.loads(path.read_text())
    if document["reconciliationRequired"]:
        return
    for result in document.get("completedToolResults", []):
        doubtful = copy.deepcopy(document)
        for item in doubtful["completedToolResults"]:
            if item["requestId"] == result["requestId"]:
                item["outcome"] = "indeterminate"
        doubtful["reconciliationRequired"] = True
        assert check_all_answers(doubtful) == 2


def test_a_blocked_turn_that_names_nothing_unknown_stays_blocked() -> None:
    document = unknown()
    facts = reread(json.dumps(enveloped(document)).encode()).facts
    assert effect_of_resume(document, facts, {}) == "blocked"


# Through the product


@pytest.fixture
def owner(db: None) -> Orchestrator:
    return characters.orchestrator()


def waiting(owner: Orchestrator, document: Document) -> Any:
    body = enveloped(document, session_id=document["sessionId"], target_role="billing", agent_role="triage")
    handoff = characters.judged(owner, json.dumps(body).encode())
    assert handoff.state == "flagged"
    assert "reconciliation" in handoff.reasons
    return handoff


def approve(handoff: Any, reviewer: Any | None = None, **outcomes: str) -> None:
    given = {key.replace("_", "-"): outcome for key, outcome in outcomes.items()}
    decide(
        handoff_id=handoff.pk,
        reviewer=reviewer or characters.person(),
        form=characters.form(handoff, reconciliations=given),
    )


def point_of(owner: Orchestrator, document: Document) -> Any:
    return recovery(orchestrator=owner, session_id=document["sessionId"])


def test_answered_effects_leave_the_list_of_the_dispatch_and_of_the_recovery(owner: Orchestrator) -> None:
    document = unknown("call-b", "call-c")
    handoff = waiting(owner, document)
    assert point_of(owner, document)["payload"] is None
    approve(handoff, call_b="happened", call_c="did_not_happen")
    answers = [
        {"request_id": "call-b", "outcome": "happened"},
        {"request_id": "call-c", "outcome": "did_not_happen"},
    ]
    before = point_of(owner, document)
    sent = characters.dispatched(owner, handoff)
    after = point_of(owner, document)
    for found in (before, sent, after):
        assert found["needs_reconciliation"] == []
        assert found["already_committed"] == ["call-a", "call-b"]
        assert found["reconciliations"] == answers
        assert found["payload"] == document  # the content itself is never touched
    assert before["resume_effect"] == after["resume_effect"] == "same_iteration"
    assert before["resume"]["checkpoint"] == document


def test_a_model_call_that_was_looked_up_no_longer_blocks(owner: Orchestrator) -> None:
    for outcome in ("happened", "did_not_happen"):
        document = unknown_model_call()
        handoff = waiting(owner, document)
        approve(handoff, invocation_1=outcome)
        found = point_of(owner, document)
        assert (found["resume_effect"], found["needs_reconciliation"]) == ("same_iteration", [])
        assert found["already_committed"] == (["invocation-1"] if outcome == "happened" else [])


@pytest.mark.parametrize("given", [{}, {"call_b": "happened"}, {"call_b": "happened", "call_c": "unknown"}])
def test_nothing_is_approved_while_one_effect_is_unknown(owner: Orchestrator, given: dict[str, str]) -> None:
    document = unknown("call-b", "call-c")
    handoff = waiting(owner, document)
    with pytest.raises(InvalidInput) as refused:
        approve(handoff, **given)
    assert refused.value.slug == "reconciliation-required"
    assert [error.pointer for error in refused.value.errors][-1] == "reconcile:call-c"
    again = characters.reload(handoff)
    assert (again.state, again.version) == ("flagged", handoff.version)
    assert point_of(owner, document)["payload"] is None


def test_an_approval_that_was_taken_back_answers_nothing(owner: Orchestrator) -> None:
    document = unknown("call-b")
    handoff = waiting(owner, document)
    person = characters.person()
    approve(handoff, person, call_b="happened")
    undo(handoff_id=handoff.pk, reviewer=person)
    assert point_of(owner, document)["payload"] is None
    approve(characters.reload(handoff), characters.person(), call_b="did_not_happen")
    sent = characters.dispatched(owner, handoff)
    assert sent["reconciliations"] == [{"request_id": "call-b", "outcome": "did_not_happen"}]
    assert sent["already_committed"] == ["call-a", "call-c"]


def test_what_was_found_out_still_stands_when_the_receiver_refuses(owner: Orchestrator) -> None:
    """The item waits for a person again; the recovery point is what was sent, with its answers."""
    document = unknown("call-b")
    handoff = waiting(owner, document)
    approve(handoff, call_b="happened")
    sent = characters.dispatched(owner, handoff)
    attempts.refuse(
        orchestrator=owner,
        checkpoint_id=handoff.checkpoint_id,
        attempt=sent["attempt"],
        reason="Not mine",
        actor=characters.caller(owner),
    )
    found = point_of(owner, document)
    assert found["action"] == "review"
    assert found["reconciliations"] == [{"request_id": "call-b", "outcome": "happened"}]
    assert found["needs_reconciliation"] == []


def test_both_approvers_at_high_risk_find_the_same(owner: Orchestrator) -> None:
    document = unknown("call-b")
    body = enveloped(
        document,
        session_id=document["sessionId"],
        target_role="billing",
        agent_role="triage",
        risk_level="high",
    )
    handoff = characters.judged(owner, json.dumps(body).encode())
    approve(handoff, call_b="happened")
    senior = characters.person(Role.SENIOR_OPERATOR)
    with pytest.raises(InvalidInput) as refused:
        approve(characters.reload(handoff), senior, call_b="did_not_happen")
    assert "'happened'" in str(refused.value)
    approve(characters.reload(handoff), senior, call_b="happened")
    assert characters.dispatched(owner, handoff)["already_committed"] == ["call-a", "call-c", "call-b"]
