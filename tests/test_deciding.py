"""People decide on exactly what they saw; machines never do."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as django_settings

from checkpoints import signing
from checkpoints.errors import (
    ClaimedByAnother,
    IllegalTransition,
    InvalidInput,
    NotAllowed,
    StaleDecision,
    Unavailable,
)
from checkpoints.models import Decision, Handoff, Orchestrator, Ticket
from checkpoints.services import attempts
from checkpoints.services.policy import publish
from checkpoints.types import Actor, JSONObject
from reviewqueue.models import Role
from reviewqueue.services import claiming
from reviewqueue.services.approvers import TooFast
from reviewqueue.services.deciding import decide, reopen, undo
from tests import characters


@pytest.fixture
def owner(db: None) -> Orchestrator:
    return characters.orchestrator()


def decided(handoff: Handoff, reviewer: Any, action: str = "approve", **changes: Any) -> Handoff:
    decide(handoff_id=handoff.pk, reviewer=reviewer, form=characters.form(handoff, action, **changes))
    return characters.reload(handoff)


def unchanged(handoff: Handoff) -> bool:
    return characters.reload(handoff).version == handoff.version


def test_one_approval_lets_medium_risk_go_and_mints_a_ticket(owner: Orchestrator) -> None:
    alice = characters.person()
    handoff = decided(characters.flagged(owner), alice)
    ticket = Ticket.objects.get(handoff=handoff)
    assert (handoff.state, handoff.approval_ticket_reference) == ("approved", ticket.reference)
    assert ticket.content_digest == handoff.content_digest
    assert [item["id"] for item in ticket.approvers] == [alice.public_id]


@pytest.mark.parametrize("first", [Role.OPERATOR, Role.SENIOR_OPERATOR])
def test_high_risk_takes_two_people_and_one_senior_in_any_order(owner: Orchestrator, first: Role) -> None:
    second = Role.SENIOR_OPERATOR if first is Role.OPERATOR else Role.OPERATOR
    handoff = decided(characters.high_risk(owner), characters.person(first))
    assert (handoff.state, handoff.approvals_given, handoff.approvals_required) == ("flagged", 1, 2)
    assert handoff.approval_ticket_reference is None
    assert decided(handoff, characters.person(second)).state == "approved"


def test_two_operators_are_not_enough_for_high_risk(owner: Orchestrator) -> None:
    handoff = decided(characters.high_risk(owner), characters.person())
    with pytest.raises(NotAllowed, match="senior"):
        decided(handoff, characters.person())
    assert unchanged(handoff)


def test_one_person_is_not_two(owner: Orchestrator) -> None:
    sam = characters.person(Role.SENIOR_OPERATOR)
    handoff = decided(characters.high_risk(owner), sam)
    again = decide(handoff_id=handoff.pk, reviewer=sam, form=characters.form(handoff))
    assert Decision.objects.filter(handoff=handoff).count() == 1
    assert again.actor_id == sam.public_id
    assert unchanged(handoff)


@pytest.mark.parametrize("role", [Role.MANAGER, Role.ADMIN])
def test_managers_and_admins_never_decide(owner: Orchestrator, role: Role) -> None:
    handoff = characters.flagged(owner)
    with pytest.raises(NotAllowed, match="role operator or senior operator"):
        decided(handoff, characters.person(role))
    assert unchanged(handoff)


def test_a_decision_on_a_stale_page_is_refused_and_says_what_happened(owner: Orchestrator) -> None:
    handoff = characters.flagged(owner)
    alice = characters.person(name="alice")
    decided(handoff, alice, "abort")
    with pytest.raises(StaleDecision) as refused:
        decided(handoff, characters.person(name="bob"))
    assert refused.value.extra["winner"] == alice.label
    assert refused.value.extra["action"] == "abort"
    assert Decision.objects.filter(handoff=handoff).count() == 1


def test_two_people_at_once_make_one_decision(owner: Orchestrator) -> None:
    for _ in range(5):
        handoff = characters.flagged(owner)
        people = [characters.person(), characters.person()]
        results = characters.together(
            lambda: decide(handoff_id=handoff.pk, reviewer=people[0], form=characters.form(handoff)),  # noqa: B023
            lambda: decide(handoff_id=handoff.pk, reviewer=people[1], form=characters.form(handoff, "abort")),  # noqa: B023
        )
        assert sorted(type(item).__name__ for item in results) == ["Decision", "StaleDecision"]
        assert Decision.objects.filter(handoff=handoff).count() == 1


def test_the_same_form_sent_twice_is_one_decision(owner: Orchestrator) -> None:
    handoff, alice = characters.flagged(owner), characters.person()
    first, second = (
        decide(handoff_id=handoff.pk, reviewer=alice, form=characters.form(handoff)) for _ in range(2)
    )
    assert first.pk == second.pk
    assert Ticket.objects.filter(handoff=handoff).count() == 1


@pytest.mark.parametrize("action", ["approve", "send_back"])
def test_another_persons_claim_stops_approval_and_sending_back(owner: Orchestrator, action: str) -> None:
    handoff = characters.flagged(owner)
    claiming.claim(handoff_id=handoff.pk, reviewer=characters.person(name="holder"))
    with pytest.raises(ClaimedByAnother, match="holder"):
        decided(handoff, characters.person(), action, question="Which account?")
    assert unchanged(handoff)


@pytest.mark.parametrize(("action", "state"), [("abort", "aborted"), ("escalate", "escalated")])
def test_aborting_and_escalating_pass_a_claim(owner: Orchestrator, action: str, state: str) -> None:
    handoff = characters.flagged(owner)
    claiming.claim(handoff_id=handoff.pk, reviewer=characters.person())
    assert decided(handoff, characters.person(), action).state == state


@pytest.mark.parametrize(
    ("action", "changes", "field"),
    [
        ("abort", {"reason": "  "}, "reason"),
        ("send_back", {"question": ""}, "question"),
        ("approve_all", {}, "action"),
        ("approve", {"target": "fallback"}, "target"),
        ("approve", {"reason": "x" * 10_001}, "reason"),
        ("abort", {"advice": "panic"}, "advice"),
        ("approve", {"answers": {"d9": "yes"}}, "answer:d9"),
    ],
)
def test_a_form_that_cannot_be_used_names_the_field(
    owner: Orchestrator, action: str, changes: dict[str, Any], field: str
) -> None:
    handoff = characters.flagged(owner)
    with pytest.raises(InvalidInput) as refused:
        decided(handoff, characters.person(), action, **changes)
    assert [item.pointer for item in refused.value.errors] == [field]
    assert unchanged(handoff)


def test_approving_over_a_high_finding_takes_a_reason(owner: Orchestrator) -> None:
    handoff = characters.judged(owner, characters.document(task_status="completed"))
    with pytest.raises(InvalidInput, match="high finding"):
        decided(handoff, characters.person(), reason="")
    assert decided(handoff, characters.person(), reason="The step is a note only").state == "approved"


def blocking(owner: Orchestrator) -> Handoff:
    decision = {
        "decision_id": "d1", "question": "Repair or replace?", "options": ["repair", "replace"],
        "recommendation": "repair: cheaper", "blocking": True,
    }  # fmt: skip
    return characters.judged(owner, characters.document(task_status="blocked", pending_decisions=[decision]))


def test_a_blocking_decision_has_to_be_answered_and_the_answer_travels(owner: Orchestrator) -> None:
    handoff = blocking(owner)
    assert "blocking_decision" in handoff.reasons
    with pytest.raises(InvalidInput) as refused:
        decided(handoff, characters.person())
    assert [item.pointer for item in refused.value.errors] == ["answer:d1"]
    handoff = decided(handoff, characters.person(), answers={"d1": "replace"})
    answer = characters.dispatched(owner, handoff)
    assert [(item["decision_id"], item["answer"]) for item in answer["answers"]] == [("d1", "replace")]


def test_an_approval_can_be_taken_back_until_it_goes_out(owner: Orchestrator) -> None:
    alice = characters.person()
    handoff = decided(characters.flagged(owner), alice)
    undo(handoff_id=handoff.pk, reviewer=alice)
    handoff = characters.reload(handoff)
    assert (handoff.state, handoff.approvals_given, handoff.approval_ticket_reference) == ("flagged", 0, None)
    assert Ticket.objects.get(handoff=handoff).revoked_at is not None
    handoff = decided(handoff, alice)
    assert handoff.state == "approved"
    characters.dispatched(owner, handoff)
    with pytest.raises(IllegalTransition):
        undo(handoff_id=handoff.pk, reviewer=alice)
    assert characters.reload(handoff).state == "dispatched"


def test_a_form_of_an_earlier_round_decides_nothing(owner: Orchestrator) -> None:
    alice, bob = characters.person(name="alice"), characters.person(name="bob")
    old = characters.flagged(owner)
    handoff = decided(old, alice)
    undo(handoff_id=handoff.pk, reviewer=alice)
    handoff = decided(characters.reload(handoff), bob)
    with pytest.raises(StaleDecision):
        decide(handoff_id=handoff.pk, reviewer=alice, form=characters.form(old))
    assert unchanged(handoff)


def test_nobody_takes_back_what_another_approved(owner: Orchestrator) -> None:
    handoff = decided(characters.flagged(owner), characters.person())
    with pytest.raises(NotAllowed):
        undo(handoff_id=handoff.pk, reviewer=characters.person())
    assert unchanged(handoff)


@pytest.mark.parametrize("rounds", [5, pytest.param(200, marks=pytest.mark.full)])
def test_abort_races_dispatch_and_exactly_one_wins(owner: Orchestrator, rounds: int) -> None:
    for _ in range(rounds):
        handoff = decided(characters.flagged(owner), characters.person())
        bob = characters.person()
        results = characters.together(
            lambda: characters.dispatched(owner, handoff),  # noqa: B023
            lambda: decided(handoff, bob, "abort"),  # noqa: B023
        )
        assert sum(isinstance(item, Exception) for item in results) == 1


def rejected(owner: Orchestrator) -> Handoff:
    handoff = characters.judged(owner, characters.document(consistency_hash="sha256:" + "ab" * 32))
    assert (handoff.state, handoff.finding_codes) == ("rejected", ["HC-11"])
    return handoff


def test_only_a_senior_reopens_a_rejected_handoff_and_approves_it_then(owner: Orchestrator) -> None:
    handoff = rejected(owner)
    with pytest.raises(NotAllowed):
        reopen(handoff_id=handoff.pk, reviewer=characters.person(), reason="Sender has a bug")
    reopen(handoff_id=handoff.pk, reviewer=characters.person(Role.SENIOR_OPERATOR), reason="Sender has a bug")
    handoff = characters.reload(handoff)
    assert handoff.state == "flagged"
    with pytest.raises(NotAllowed, match="senior"):
        decided(handoff, characters.person())
    assert decided(handoff, characters.person(Role.SENIOR_OPERATOR)).state == "approved"


def test_a_rejected_handoff_can_be_marked_as_seen_by_aborting_it(owner: Orchestrator) -> None:
    assert decided(rejected(owner), characters.person(), "abort").state == "aborted"


def test_sending_back_ends_the_handoff_with_its_question(owner: Orchestrator) -> None:
    handoff = decided(characters.flagged(owner), characters.person(), "send_back", question="Which account?")
    assert handoff.state == "aborted"
    assert Decision.objects.get(handoff=handoff).question == "Which account?"


def test_twenty_approvals_a_minute_are_enough(owner: Orchestrator, settings: Any) -> None:
    settings.APPROVALS_PER_MINUTE = 2
    alice = characters.person()
    for _ in range(2):
        decided(characters.flagged(owner), alice)
    handoff = characters.flagged(owner)
    with pytest.raises(TooFast):
        decided(handoff, alice)
    assert unchanged(handoff)
    assert decided(handoff, characters.person()).state == "approved"
    assert django_settings.APPROVALS_PER_MINUTE == 2


def test_zero_switches_the_rate_of_approvals_off(owner: Orchestrator, settings: Any) -> None:
    settings.APPROVALS_PER_MINUTE = 0
    assert decided(characters.flagged(owner), characters.person()).state == "approved"


def test_without_a_signing_key_nothing_is_approved_and_nothing_is_lost(owner: Orchestrator) -> None:
    handoff = characters.flagged(owner)
    signer = signing.current()
    signing.install(None)
    try:
        with pytest.raises(Unavailable):
            decided(handoff, characters.person())
    finally:
        signing.install(signer)
    assert unchanged(handoff)
    assert not Decision.objects.filter(handoff=handoff).exists()


def test_an_exhausted_handoff_can_go_to_the_fallback_role(owner: Orchestrator) -> None:
    target = characters.fresh("payments")
    roles: JSONObject = {"triage": {}, target: {"fallback_role": "legal"}, "legal": {}, "billing": {}}
    publish(document={"roles": roles}, actor=Actor("system", "system:test", "Test"))
    try:
        document = characters.document(handoff_target={"target_role": target, "handoff_reason": "Pay"})
        document["recovery_instructions"]["max_retries"] = 0
        handoff = characters.judged(owner, document)
        characters.dispatched(owner, handoff)
        attempts.fail(
            orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=1, kind="crashed", detail="",
            actor=characters.caller(owner),
        )  # fmt: skip
        handoff = decided(characters.reload(handoff), characters.person(), target="fallback")
    finally:
        publish(document={}, actor=Actor("system", "system:test", "Test"))
    assert (handoff.state, handoff.target_role, handoff.revision) == ("approved", "legal", 2)
    answer = characters.dispatched(owner, handoff)
    expected = {**document, "handoff_target": {**document["handoff_target"], "target_role": "legal"}}
    assert answer["payload"] == expected
    decision = Decision.objects.get(handoff=handoff)
    assert (decision.revision, decision.content_digest) == (2, handoff.content_digest)
