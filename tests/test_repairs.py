"""Repairs that the edit page suggests: each takes its finding away, none is applied by itself."""

from __future__ import annotations

from typing import Any

import jsonpatch
import orjson
import pytest

from checkpoints.errors import InvalidInput
from checkpoints.models import Handoff
from reviewqueue.services import editing, rechecking
from tests.characters import document, flagged, fresh, judged, orchestrator, person

pytestmark = pytest.mark.django_db

STEP = document()["completed_steps"][0]
RECOVERY = document()["recovery_instructions"]


def look(handoff: Handoff) -> rechecking.Rechecked:
    return rechecking.recheck(handoff=handoff, document=editing.editable_text(handoff=handoff))


def suggested(handoff: Handoff, code: str) -> list[rechecking.Suggestion]:
    return [item for item in look(handoff).suggestions if item.code == code]


def chained(owner: Any, first: dict[str, Any], then: dict[str, Any]) -> Handoff:
    """A handoff whose predecessor is another one."""
    session = fresh("session")
    judged(owner, document(session_id=session, **first))
    return judged(
        owner, document(session_id=session, handoff_sequence=2, human_approval_required=True, **then)
    )


CASES = [
    ("HC-31", {"completed_steps": [STEP, STEP]}, "Remove the copy of"),
    ("HC-31", {"completed_steps": [STEP, {**STEP, "description": "Another"}]}, "Call the second one"),
    ("HC-18", {"task_status": "completed"}, "Empty the step in progress"),
    ("HC-55", {"active_constraints": ["pii_masking", "pii_masking"]}, "Remove the constraint “pii_masking”"),
    ("HC-04", {"task_status": "in_progres"}, "Write “in_progress” for “in_progres”"),
    ("HC-10", {"partial_output": "key sk-ant-api03-" + "a1B2" * 24}, "in place of the credential"),
    ("HC-68", {"recovery_instructions": {**RECOVERY, "max_retries": 99}}, "retries, as the policy does"),
]


@pytest.mark.parametrize(("code", "changes", "title"), CASES, ids=[f"{case[0]} {case[2]}" for case in CASES])
def test_a_suggestion_takes_its_finding_away_and_its_patch_says_how(code, changes, title):
    handoff = flagged(orchestrator(), **changes)
    assert code in handoff.finding_codes
    fitting = [item for item in suggested(handoff, code) if title in item.title]
    assert fitting, [item.title for item in look(handoff).suggestions]
    again = rechecking.recheck(handoff=handoff, document=fitting[0].text)
    counts = [item["code"] for item in again.new + again.same]
    assert counts.count(code) < handoff.finding_codes.count(code) or code not in counts
    before = orjson.loads(editing.editable_text(handoff=handoff))
    assert jsonpatch.apply_patch(before, fitting[0].patch) == orjson.loads(fitting[0].text)


def test_what_the_predecessor_had_is_offered_back():
    owner = orchestrator()
    lost = chained(
        owner, {"active_constraints": ["pii_masking", "eu_only"]}, {"active_constraints": ["pii_masking"]}
    )
    [constraint] = suggested(lost, "HC-52")
    assert constraint.title == "Put the constraint “eu_only” back"
    assert constraint.patch == [{"op": "add", "path": "/active_constraints/1", "value": "eu_only"}]
    steps = chained(
        owner, {"completed_steps": [STEP, {**STEP, "step_id": "two"}]}, {"completed_steps": [STEP]}
    )
    [step] = suggested(steps, "HC-47")
    assert step.title == "Put the step “two” back"
    rewritten = chained(
        owner, {"completed_steps": [STEP]}, {"completed_steps": [{**STEP, "description": "Something else"}]}
    )
    [back] = suggested(rewritten, "HC-48")
    assert orjson.loads(back.text)["completed_steps"][0] == STEP


def test_a_finding_that_only_the_sender_can_repair_has_no_suggestion():
    snapshot = {"user_intent": "Another", "key_facts": [], "session_highlights": []}
    handoff = flagged(orchestrator(), context_snapshot=snapshot, context_fingerprint="0" * 64)
    assert suggested(handoff, "HC-15") == []


def test_looking_stores_nothing_and_changes_nothing():
    handoff = flagged(orchestrator(), completed_steps=[STEP, STEP])
    before = Handoff.objects.values().get(pk=handoff.pk)
    for suggestion in look(handoff).suggestions:
        rechecking.recheck(handoff=handoff, document=suggestion.text)
    assert Handoff.objects.values().get(pk=handoff.pk) == before
    assert handoff.checkpoints.count() == 1


def test_a_suggestion_that_was_applied_can_be_saved():
    handoff = flagged(orchestrator(), completed_steps=[STEP, STEP])
    text = suggested(handoff, "HC-31")[0].text
    editing.edit(
        handoff_id=handoff.pk, reviewer=person(), document=text, reason="The copy is gone",
        content_digest=handoff.content_digest, version=handoff.version,
    )  # fmt: skip
    saved = Handoff.objects.get(pk=handoff.pk)
    assert saved.revision == 2
    assert "HC-31" not in saved.finding_codes


def test_fields_and_text_are_one_and_a_contradiction_is_refused():
    handoff = flagged(orchestrator())
    text = editing.editable_text(handoff=handoff)
    was = rechecking.field_values(handoff=handoff, document=text)
    assert set(was) == {"target_role", "status", "constraints"}
    given = {**was, "target_role": "legal", "constraints": "pii_masking\r\n\r\n eu_only "}
    merged = orjson.loads(rechecking.with_fields(handoff=handoff, document=text, given=given, was=was))
    assert merged["handoff_target"]["target_role"] == "legal"
    assert merged["active_constraints"] == ["pii_masking", "eu_only"]
    untouched = rechecking.with_fields(handoff=handoff, document=text, given=was, was=was)
    assert untouched == text
    other = text.replace('"target_role": "billing"', '"target_role": "warehouse"')
    assert other != text
    with pytest.raises(InvalidInput, match="changed in the field and in the text"):
        rechecking.with_fields(handoff=handoff, document=other, given=given, was=was)
