"""An edit is a new revision; the original never changes."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from checkpoints.errors import IllegalTransition, InvalidInput, NotAllowed, StaleDecision
from checkpoints.formats import covered_object, hash_of
from checkpoints.models import Checkpoint, Decision, Handoff, Orchestrator, Ticket
from checkpoints.services.bodies import body_of, current_body
from reviewqueue.models import Role, User
from reviewqueue.services.deciding import decide, undo
from reviewqueue.services.editing import edit, editable_text
from tests import characters


@pytest.fixture
def owner(db: None) -> Orchestrator:
    return characters.orchestrator()


def change(handoff: Handoff, reviewer: User, **members: Any) -> Handoff:
    document = {**json.loads(editable_text(handoff=handoff)), **members}
    return save(handoff, reviewer, json.dumps(document))


def save(handoff: Handoff, reviewer: User, text: str, **form: Any) -> Handoff:
    given = {
        "reason": "Put right",
        "content_digest": handoff.content_digest,
        "version": handoff.version,
        **form,
    }
    edit(handoff_id=handoff.pk, reviewer=reviewer, document=text, **given)
    return characters.reload(handoff)


def untouched(handoff: Handoff) -> bool:
    return (
        characters.reload(handoff).version == handoff.version
        and Checkpoint.objects.filter(handoff=handoff).count() == handoff.revision
    )


def broken(owner: Orchestrator) -> Handoff:
    return characters.judged(owner, characters.document(task_status="completed"))


def test_an_edit_leaves_the_original_untouched_and_is_checked_again(owner: Orchestrator) -> None:
    before = broken(owner)
    original = current_body(handoff=before)
    handoff = change(before, characters.person(), task_status="in_progress")
    assert (handoff.revision, handoff.state, handoff.finding_codes) == (2, "flagged", [])
    assert body_of(handoff=handoff, revision=1) == original
    stored = Checkpoint.objects.get(handoff=handoff, revision=2)
    assert stored.revises == 1
    assert {item["path"] for item in stored.patch or []} == {"/task_status", "/consistency_hash"}


def test_the_server_writes_the_hashes_of_an_edit(owner: Orchestrator) -> None:
    handoff = change(broken(owner), characters.person(), task_status="in_progress")
    document = orjson.loads(current_body(handoff=handoff))
    assert document["consistency_hash"] == hash_of(covered_object(document, {}) or {})


def test_what_goes_out_is_the_edited_content(owner: Orchestrator) -> None:
    alice = characters.person()
    handoff = change(broken(owner), alice, task_status="in_progress")
    decide(handoff_id=handoff.pk, reviewer=alice, form=characters.form(handoff))
    answer = characters.dispatched(owner, handoff)
    assert (answer["revision"], answer["payload"]["task_status"]) == (2, "in_progress")
    assert answer["content_digest"] == handoff.content_digest


def test_an_edit_resets_approvals(owner: Orchestrator) -> None:
    handoff = characters.high_risk(owner)
    decide(handoff_id=handoff.pk, reviewer=characters.person(), form=characters.form(handoff))
    handoff = change(
        characters.reload(handoff), characters.person(), active_constraints=["pii_masking", "eu_only"]
    )
    assert (handoff.approvals_given, handoff.approvals_required) == (0, 2)


def test_an_editor_does_not_approve_their_own_edit_at_high_risk(owner: Orchestrator) -> None:
    sam = characters.person(Role.SENIOR_OPERATOR)
    handoff = change(characters.high_risk(owner), sam, active_constraints=["pii_masking", "eu_only"])
    with pytest.raises(NotAllowed) as refused:
        decide(handoff_id=handoff.pk, reviewer=sam, form=characters.form(handoff))
    assert refused.value.slug == "self-approval"
    assert untouched(handoff)


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"checkpoint_id": "0198ad55-7a6c-7000-8000-000000000000"}, "/checkpoint_id"),
        ({"handoff_sequence": 9}, "/handoff_sequence"),
        ({"agent_id": "other/1"}, "/agent_id"),
        ({"timestamp": "2026-01-01T00:00:00Z"}, "/timestamp"),
        ({"consistency_hash": "sha256:" + "0" * 64}, "/consistency_hash"),
        ({"recovery_instructions": {"max_retries": 2}}, "/recovery_instructions/idempotency_key"),
    ],
)
def test_protected_members_stay_as_they_are(
    owner: Orchestrator, members: dict[str, Any], pointer: str
) -> None:
    handoff = broken(owner)
    with pytest.raises(InvalidInput) as refused:
        change(handoff, characters.person(), **members)
    assert refused.value.slug == "protected-field"
    assert pointer in [item.pointer for item in refused.value.errors]
    assert untouched(handoff)


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("{", "malformed-json"),
        ('{"a": 1, "a": 2}', "duplicate-key"),
        ("[]", "not-an-object"),
        ("", "malformed-json"),
    ],
)
def test_text_that_is_no_document_is_refused_with_its_fault(
    owner: Orchestrator, text: str, slug: str
) -> None:
    handoff = broken(owner)
    with pytest.raises(InvalidInput) as refused:
        save(handoff, characters.person(), text)
    assert (refused.value.slug, refused.value.status) == (slug, 422)
    assert untouched(handoff)


def test_no_change_is_refused(owner: Orchestrator) -> None:
    handoff = characters.flagged(owner)
    with pytest.raises(InvalidInput) as refused:
        save(handoff, characters.person(), editable_text(handoff=handoff))
    assert refused.value.slug == "no-change"
    assert untouched(handoff)


def test_an_edit_that_would_be_rejected_stores_nothing(owner: Orchestrator) -> None:
    handoff = broken(owner)
    with pytest.raises(InvalidInput) as refused:
        change(handoff, characters.person(), active_constraints="none")
    assert "HC-03" in [item.code for item in refused.value.errors]
    assert untouched(handoff)


def test_an_edit_of_a_page_that_is_stale_is_refused(owner: Orchestrator) -> None:
    handoff = broken(owner)
    change(handoff, characters.person(), task_status="in_progress")
    with pytest.raises(StaleDecision):
        change(handoff, characters.person(), task_status="blocked")
    assert Checkpoint.objects.filter(handoff=handoff).count() == 2


def test_the_same_edit_sent_twice_is_one_revision(owner: Orchestrator) -> None:
    handoff, alice = broken(owner), characters.person()
    text = json.dumps({**json.loads(editable_text(handoff=handoff)), "task_status": "in_progress"})
    save(handoff, alice, text)
    save(handoff, alice, text)
    assert Decision.objects.filter(handoff=handoff, action="edit").count() == 1


def test_only_what_waits_for_a_person_can_be_edited(owner: Orchestrator) -> None:
    handoff = characters.judged(owner, characters.document())
    with pytest.raises(IllegalTransition):
        change(handoff, characters.person(), task_status="blocked")
    assert untouched(handoff)


def test_an_edit_needs_a_reason(owner: Orchestrator) -> None:
    handoff = broken(owner)
    with pytest.raises(InvalidInput) as refused:
        save(handoff, characters.person(), "{}", reason=" ")
    assert [item.pointer for item in refused.value.errors] == ["reason"]
    assert untouched(handoff)


def test_an_envelopes_edit_changes_only_its_payload(owner: Orchestrator) -> None:
    payload = characters.document(task_status="completed")
    names = ("session_id", "handoff_sequence", "checkpoint_id")
    envelope = {"format": "handoff/1", **{key: payload[key] for key in names}, "payload": payload}
    handoff = characters.judged(owner, envelope)
    handoff = change(handoff, characters.person(), task_status="in_progress")
    body = orjson.loads(current_body(handoff=handoff))
    assert body.keys() == envelope.keys()
    assert body["payload"]["task_status"] == "in_progress"


def test_a_ticket_of_earlier_content_is_void(owner: Orchestrator) -> None:
    alice = characters.person()
    handoff = characters.flagged(owner)
    decide(handoff_id=handoff.pk, reviewer=alice, form=characters.form(handoff))
    undo(handoff_id=handoff.pk, reviewer=alice)
    handoff = change(characters.reload(handoff), alice, active_constraints=["pii_masking", "eu_only"])
    assert not Ticket.objects.filter(handoff=handoff, revoked_at__isnull=True).exists()
