"""What a checkpoint is compared with: predecessors that were stopped, edited or reopened, rounds, repeated ids."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkpoints.models import CheckRun, Handoff, Orchestrator
from checkpoints.services import attempts
from reviewqueue.models import Role
from reviewqueue.services import editing
from reviewqueue.services.deciding import decide, reopen
from tests import characters
from tests.characters import (
    caller,
    dispatched,
    flagged,
    form,
    fresh,
    judged,
    orchestrator,
    person,
    reload,
)
from tests.checks.engine_documents import mid_batch

pytestmark = pytest.mark.usefixtures("db")

READ = {
    "step_id": "read-claim",
    "description": "Read the claim",
    "output_reference": "artifact://runs/9/read-claim.json",
    "completed_at": "2026-03-02T08:00:00Z",
}
WRONG_HASH = "sha256:8f14e45fceea167a5a36dedd4bea2543ce5f1f0d9c3b6f0b8d3a1f27c94be6d1"
STEP = {
    "step_id": "call-shop",
    "description": "Called the shop",
    "output_reference": "artifact://runs/9/call-shop.json",
    "completed_at": "2026-03-02T09:00:00Z",
}


@pytest.fixture
def owner() -> Orchestrator:
    return orchestrator()


@pytest.fixture
def session() -> str:
    return fresh("session")


def document(**changes: Any) -> dict[str, Any]:
    """A document whose completed step is the same at whatever moment it is made."""
    return characters.document(**{"completed_steps": [READ], **changes})


def with_another_step(session: str, sequence: int, **changes: Any) -> dict[str, Any]:
    steps = {"session_id": session, "handoff_sequence": sequence, "completed_steps": [READ, STEP]}
    return document(**steps, **changes)


def after(owner: Orchestrator, session: str, sequence: int = 3) -> list[str]:
    """The codes of a checkpoint that does not know the other step."""
    return judged(owner, document(session_id=session, handoff_sequence=sequence)).finding_codes


def test_the_last_of_the_same_role_is_compared_whatever_others_sent_between(owner, session):
    judged(owner, with_another_step(session, 1))
    other = {
        "agent_role": "legal",
        "agent_id": "legal/1",
        "completed_steps": [],
        "active_constraints": [],
    }
    assert judged(owner, document(session_id=session, handoff_sequence=2, **other)).finding_codes == []
    assert after(owner, session) == ["HC-47"]


def test_another_task_has_a_history_of_its_own(owner, session):
    judged(owner, with_another_step(session, 1, task_id="T-2"))
    assert after(owner, session, 2) == []


@pytest.mark.parametrize("stopped_by", ["abort", "cancel"])
def test_a_stopped_predecessor_is_none_and_the_one_before_it_counts(owner, session, stopped_by):
    judged(owner, document(session_id=session, active_constraints=["pii_masking", "eu_only"]))
    second = judged(owner, with_another_step(session, 2, active_constraints=["pii_masking", "eu_only"]))
    if stopped_by == "abort":
        decide(handoff_id=second.pk, reviewer=person(), form=form(second, "abort", advice="restart"))
    else:
        attempts.cancel(
            orchestrator=owner, checkpoint_id=second.checkpoint_id, reason="Over", actor=caller(owner)
        )
    assert after(owner, session) == ["HC-52"]


def test_what_was_judged_before_the_abort_keeps_its_verdict(owner, session):
    first = judged(owner, with_another_step(session, 1))
    second = judged(owner, document(session_id=session, handoff_sequence=2))
    assert "HC-47" in second.finding_codes
    decide(handoff_id=first.pk, reviewer=person(), form=form(first, "abort"))
    assert reload(second).finding_codes == second.finding_codes
    assert CheckRun.objects.filter(handoff=second).count() == 1


def test_a_rejected_predecessor_is_none_until_it_is_reopened(owner, session):
    judged(owner, document(session_id=session))
    rejected = judged(owner, with_another_step(session, 2, consistency_hash=WRONG_HASH))
    assert rejected.state == "rejected"
    assert "HC-47" not in after(owner, session)
    reopen(handoff_id=rejected.pk, reviewer=person(Role.SENIOR_OPERATOR), reason="The steps are true")
    # Number 3, which does not know the step, is the last one: a predecessor is the last that stands.
    assert "HC-47" not in after(owner, session, 4)
    other = fresh("session")
    judged(owner, document(session_id=other))
    rejected = judged(owner, with_another_step(other, 2, consistency_hash=WRONG_HASH))
    reopen(handoff_id=rejected.pk, reviewer=person(Role.SENIOR_OPERATOR), reason="The steps are true")
    assert "HC-47" in after(owner, other)


def test_an_edited_predecessor_counts_as_it_is_now(owner, session):
    first = flagged(owner, session_id=session, active_constraints=["pii_masking", "eu_only"])
    text = json.loads(editing.editable_text(handoff=first))
    text["active_constraints"] = ["pii_masking"]
    editing.edit(
        handoff_id=first.pk,
        reviewer=person(),
        document=json.dumps(text),
        reason="The customer moved",
        content_digest=first.content_digest,
        version=first.version,
    )
    assert "HC-52" not in after(owner, session, 2)


def post_round(owner: Orchestrator, session: str, number: int, **changes: Any) -> Handoff:
    """A post that says the same each time: only what names and dates it, its sender and its calls differs."""
    call = {
        "tool_name": "look_up",
        "call_id": fresh("call"),
        "result_summary": "Nothing new",
        "full_result_reference": "artifact://runs/9/look.json",
    }
    instance = {"agent_id": f"triage/{number}", "tool_outputs": [call]}
    started = document()["in_progress_step"] | {"started_at": f"2026-03-02T09:0{number}:00Z"}
    return judged(
        owner,
        document(
            session_id=session, handoff_sequence=number, **instance, in_progress_step=started, **changes
        ),
    )


def test_the_third_post_of_the_same_content_is_a_loop(owner, session):
    codes = [post_round(owner, session, number).finding_codes for number in (1, 2, 3)]
    assert codes == [[], [], ["HC-78"]]


def test_what_was_rejected_or_never_sent_is_no_round_of_a_loop(owner, session):
    for number in (1, 2):
        assert post_round(owner, session, number, consistency_hash=WRONG_HASH).state == "rejected"
    stopped = post_round(owner, session, 3)
    attempts.cancel(
        orchestrator=owner, checkpoint_id=stopped.checkpoint_id, reason="Over", actor=caller(owner)
    )
    repaired = post_round(owner, session, 4)
    assert (repaired.state, repaired.finding_codes) == ("cleared", [])


@pytest.mark.parametrize(("sent", "codes"), [(False, []), (True, ["HC-67"])])
def test_a_key_is_free_again_only_where_its_handoff_never_went_out(owner, session, sent, codes):
    first = judged(owner, document(session_id=session))
    if sent:
        dispatched(owner, first)
    attempts.cancel(orchestrator=owner, checkpoint_id=first.checkpoint_id, reason="Over", actor=caller(owner))
    key = {**document()["recovery_instructions"], "idempotency_key": first.idempotency_key}
    again = judged(owner, document(session_id=session, handoff_sequence=2, recovery_instructions=key))
    assert again.finding_codes == codes


def engine_post(owner: Orchestrator, session: str, **changes: Any) -> list[str]:
    payload = {**mid_batch(), "sessionId": session, **changes}
    value = {
        "format": "prompty.engine/1",
        "session_id": session,
        "checkpoint_id": fresh("cp"),
        "agent_role": "support",
        "target_role": "billing",
        "payload": payload,
    }
    found = judged(owner, json.dumps(value).encode()).finding_codes
    return [code for code in found if code.startswith("EH")]


def test_ids_that_an_engine_gives_itself_start_again_with_each_turn(owner, session):
    for turn in ("t1", "t2", "t3"):
        assert engine_post(owner, session, runId="run-1", id="checkpoint-1", turnId=turn) == []
    assert engine_post(owner, session, runId="run-1", id="checkpoint-1", turnId="t3", lastSequence=12) == [
        "EH-01"
    ]


def test_an_id_of_ones_own_means_one_content_in_every_turn_of_its_run(owner, session):
    own, run = fresh("cp"), fresh("run")
    assert engine_post(owner, session, runId="run-1", id=own, turnId="t1") == []
    assert engine_post(owner, session, runId="run-1", id=own, turnId="t2") == ["EH-01"]
    assert engine_post(owner, session, runId=run, id=own, turnId="t1") == []
