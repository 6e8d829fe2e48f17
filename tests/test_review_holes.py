"""Ways around the rules that a review found, each closed."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from checkpoints.errors import Conflict, IllegalTransition, InvalidInput
from checkpoints.models import AuditEntry, Handoff, Orchestrator
from checkpoints.services import attempts
from checkpoints.services.audit_verification import entries_in_order, verify
from checkpoints.services.clock import now
from reviewqueue.models import Role
from reviewqueue.services.deciding import decide, undo
from reviewqueue.services.editing import edit, editable_text
from tests import characters


@pytest.fixture
def owner(db: None) -> Orchestrator:
    return characters.orchestrator()


def decided(handoff: Handoff, reviewer: Any, action: str = "approve", **changes: Any) -> Handoff:
    decide(handoff_id=handoff.pk, reviewer=reviewer, form=characters.form(handoff, action, **changes))
    return characters.reload(handoff)


def edited(handoff: Handoff, reviewer: Any, document: dict[str, Any]) -> Handoff:
    edit(
        handoff_id=handoff.pk, reviewer=reviewer, document=json.dumps(document), reason="Put right",
        content_digest=handoff.content_digest, version=handoff.version,
    )  # fmt: skip
    return characters.reload(handoff)


def failed(owner: Orchestrator, handoff: Handoff, attempt: int = 1) -> Handoff:
    characters.dispatched(owner, handoff)
    attempts.fail(
        orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=attempt, kind="crashed", detail="",
        actor=characters.caller(owner),
    )  # fmt: skip
    return characters.reload(handoff)


def test_approvals_of_before_an_escalation_do_not_count_after_it(owner: Orchestrator) -> None:
    handoff = characters.high_risk(owner)
    for reviewer in (characters.person(), characters.person(Role.SENIOR_OPERATOR)):
        handoff = decided(handoff, reviewer)
    handoff = decided(failed(owner, handoff), characters.person(), "escalate")
    assert (handoff.state, handoff.approvals_given, handoff.approvals_required) == ("escalated", 0, 2)
    handoff = decided(handoff, characters.person())
    assert (handoff.state, handoff.approvals_given) == ("escalated", 1)


def asking(owner: Orchestrator, **changes: Any) -> Handoff:
    decision = {
        "decision_id": "d1", "question": "Repair or replace?", "options": ["repair", "replace"], "blocking": True,
    }  # fmt: skip
    return characters.judged(
        owner, characters.document(task_status="blocked", pending_decisions=[decision], **changes)
    )


def test_a_withdrawn_answer_is_no_answer(owner: Orchestrator) -> None:
    alice = characters.person()
    handoff = decided(asking(owner), alice, answers={"d1": "repair"})
    undo(handoff_id=handoff.pk, reviewer=alice)
    handoff = decided(characters.reload(handoff), characters.person(), answers={"d1": "replace"})
    answers = characters.dispatched(owner, handoff)["answers"]
    assert [item["answer"] for item in answers] == ["replace"]


def test_an_answer_of_an_aborted_handoff_clears_nothing(owner: Orchestrator) -> None:
    alice, session = characters.person(), characters.fresh("session")
    handoff = decided(asking(owner, session_id=session), alice, answers={"d1": "repair"})
    undo(handoff_id=handoff.pk, reviewer=alice)
    decided(characters.reload(handoff), alice, "abort")
    again = asking(owner, session_id=session, handoff_sequence=2)
    assert "blocking_decision" in again.reasons


def test_two_approvers_do_not_contradict_each_other(owner: Orchestrator) -> None:
    handoff = decided(asking(owner, risk_level="high"), characters.person(), answers={"d1": "repair"})
    with pytest.raises(InvalidInput) as refused:
        decided(handoff, characters.person(Role.SENIOR_OPERATOR), answers={"d1": "replace"})
    assert [item.code for item in refused.value.errors] == ["contradiction"]
    assert characters.reload(handoff).version == handoff.version


@pytest.mark.parametrize("change", ["format", "payload"])
def test_an_edit_stays_in_its_form_and_format(owner: Orchestrator, change: str) -> None:
    handoff = characters.judged(owner, characters.document(task_status="completed"))
    document = json.loads(editable_text(handoff=handoff))
    other = {"format": "opaque"} if change == "format" else {"payload": {**document, "agent_id": "evil/1"}}
    with pytest.raises(InvalidInput) as refused:
        edited(handoff, characters.person(), {**document, **other})
    assert refused.value.slug == "protected-field"
    assert characters.reload(handoff).version == handoff.version


def test_nobody_edits_the_second_approver_away(owner: Orchestrator) -> None:
    alice = characters.person()
    handoff = characters.high_risk(owner)
    document = json.loads(editable_text(handoff=handoff))
    handoff = edited(handoff, alice, {**document, "risk_level": "low"})
    assert (handoff.risk, handoff.approvals_required) == ("high", 2)


def test_large_numbers_come_back_as_they_were(owner: Orchestrator) -> None:
    document = characters.document()
    document["recovery_instructions"]["max_retries"] = 1e20
    handoff = characters.judged(owner, document)
    run = handoff.check_runs.get()
    actual = next(item["actual"] for item in run.findings if item["code"] in ("HC-68", "HC-03"))
    assert isinstance(actual, float)
    assert (
        characters.dispatched(owner, handoff)["payload"] == document if handoff.state == "cleared" else True
    )


def test_the_audit_trail_verifies_over_large_numbers(owner: Orchestrator) -> None:
    handoff = characters.judged(owner, characters.document(task_status="completed"))
    document = json.loads(editable_text(handoff=handoff))
    edited(handoff, characters.person(), {**document, "task_status": "in_progress", "budget": 1e20})
    mine = [item for item in entries_in_order() if item.subject_id == str(handoff.pk)]
    assert verify(iter(mine)).broken == 0


def test_a_receiver_of_other_content_cannot_close_the_item_later(owner: Orchestrator) -> None:
    handoff = characters.judged(owner, characters.document())
    characters.dispatched(owner, handoff)

    def acknowledge(digest: str | None) -> None:
        attempts.acknowledge(
            orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=1, content_digest=digest,
            receiver=None, actor=characters.caller(owner),
        )  # fmt: skip

    with pytest.raises(Conflict):
        acknowledge("sha256:" + "0" * 64)
    decided(characters.reload(handoff), characters.person(), "escalate")
    with pytest.raises(IllegalTransition):
        acknowledge(None)
    assert characters.reload(handoff).state == "escalated"


def test_a_late_acknowledgement_of_other_content_goes_to_a_person(owner: Orchestrator) -> None:
    handoff = characters.judged(owner, characters.document())
    characters.dispatched(owner, handoff)
    Handoff.objects.filter(pk=handoff.pk).update(acknowledge_by=now() - timedelta(seconds=1))
    attempts.sweep_overdue_attempts()
    with pytest.raises(Conflict) as refused:
        attempts.acknowledge(
            orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=1, receiver=None,
            content_digest="sha256:" + "0" * 64, actor=characters.caller(owner),
        )  # fmt: skip
    assert refused.value.slug == "digest-mismatch"
    assert characters.reload(handoff).state == "escalated"


def test_a_cleared_handoff_whose_bytes_changed_is_held_and_recorded(
    owner: Orchestrator, server_environment: dict[str, str]
) -> None:
    import psycopg

    handoff = characters.judged(owner, characters.document())
    with psycopg.connect(server_environment["DATABASE_OWNER_URL"]) as superior:
        superior.execute("ALTER TABLE checkpoint_body DISABLE TRIGGER checkpoint_body_written_once")
        superior.execute(
            "UPDATE checkpoint_body SET content = replace(convert_from(content, 'UTF8'), 'cracked', 'stolen')::bytea"
            " WHERE checkpoint_id IN (SELECT id FROM checkpoint WHERE handoff_id = %s)",
            [handoff.pk],
        )
        superior.execute("ALTER TABLE checkpoint_body ENABLE ALWAYS TRIGGER checkpoint_body_written_once")
    with pytest.raises(Conflict) as refused:
        characters.dispatched(owner, handoff)
    assert refused.value.extra["problem"] == "ticket-content-mismatch"
    assert characters.reload(handoff).state == "cleared"
    assert AuditEntry.objects.filter(subject_id=str(handoff.pk), action="handoff.held").exists()
