"""A draft against stored handoffs: what would differ, and nothing that changes."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from checkpoints.errors import InvalidInput
from checkpoints.models import AuditEntry, CheckpointBody, CheckRun, Handoff, Orchestrator
from checkpoints.policies import compile_policy, judge
from checkpoints.services import simulation
from checkpoints.services.attempts import cancel
from checkpoints.services.tally import Tally
from checkpoints.services.verification import drain
from checkpoints.types import CheckContext, Judgement, Submission
from reviewqueue.models import PolicySimulation, Role, SimulatedDifference, SimulationPart
from reviewqueue.services import drafting, editing, simulating
from reviewqueue.services.deciding import decide
from tests.characters import (
    caller,
    dispatched,
    document,
    flagged,
    form,
    fresh,
    judged,
    orchestrator,
    person,
    post,
    reload,
)

pytestmark = pytest.mark.usefixtures("own_database")

MILD = {"checks": {"HC-18": {"disposition": "warn"}}}


@pytest.fixture
def owner() -> Orchestrator:
    return orchestrator()


def simulated(owner: Orchestrator, policy: dict) -> tuple[simulation.Report, list[simulation.Difference]]:
    """The report, and the differences of this orchestrator."""
    report = simulation.simulate(document=policy, days=1)
    mine = set(Handoff.objects.of(owner).values_list("pk", flat=True))
    return report, [item for item in report.differences if item.handoff_id in mine]


def everything() -> list[object]:
    rows: list[object] = [*Handoff.objects.order_by("pk").values(), *CheckRun.objects.order_by("pk").values()]
    return [*rows, AuditEntry.objects.count()]


def test_a_milder_rule_shows_what_would_have_cleared(owner):
    stopped = judged(owner, document(task_status="completed"))
    judged(owner, document())
    report, (difference,) = simulated(owner, MILD)
    assert difference.checkpoint_id == stopped.checkpoint_id
    assert (difference.before.outcome, difference.after.outcome) == ("flagged", "cleared")
    assert difference.before.reasons == ("findings",)
    assert difference.before.codes == difference.after.codes == ("HC-18",)
    before, after = report.tally.side("before"), report.tally.side("after")
    assert (
        after["cleared"] - before["cleared"] == before["flagged"] - after["flagged"] == report.tally.differing
    )


def test_a_stricter_policy_shows_what_would_have_stopped(owner):
    cleared = judged(owner, document())
    report, (difference,) = simulated(
        owner, {"required_constraints": {"from": {"triage": ["gdpr"]}, "to": {}}}
    )
    assert difference.handoff_id == cleared.pk
    assert (difference.before.outcome, difference.after.outcome) == ("cleared", "flagged")
    assert difference.after.codes == ("HC-54",)
    assert report.tally.codes["HC-54", "before"] == 0
    assert report.tally.codes["HC-54", "after"] > 0
    pair = report.tally.pairs
    assert pair["triage", "billing", "after", "flagged"] > pair["triage", "billing", "before", "flagged"]


def test_the_policy_that_judged_finds_no_difference_whatever_came_after(owner):
    session = fresh("session")
    ask = {"decision_id": "d1", "question": "Repair?", "options": ["yes", "no"], "blocking": True}
    answered = judged(owner, document(session_id=session, task_status="blocked", pending_decisions=[ask]))
    edited = flagged(owner, session_id=session, handoff_sequence=2)
    editing.edit(
        handoff_id=edited.pk,
        reviewer=person(),
        document=editing.editable_text(handoff=edited).replace("Repair my phone", "Repair my phone now"),
        reason="Clearer",
        content_digest=edited.content_digest,
        version=edited.version,
    )
    judged(owner, document(session_id=session, handoff_sequence=3))
    decide(handoff_id=answered.pk, reviewer=person(), form=form(answered, answers={"d1": "yes"}))
    edited = reload(edited)
    decide(handoff_id=edited.pk, reviewer=person(), form=form(edited, "abort"))
    last = judged(owner, document(session_id=session, handoff_sequence=4))
    cancel(orchestrator=owner, checkpoint_id=last.checkpoint_id, reason="Over", actor=caller(owner))
    report, differences = simulated(owner, {})
    assert differences == []
    assert report.tally.not_reproduced == 0
    codes = report.tally.codes
    assert {code for code, _ in codes if codes[code, "before"] != codes[code, "after"]} == set()


def test_a_predecessor_that_was_aborted_later_still_counts_as_it_did(owner):
    session = fresh("session")
    first = flagged(owner, session_id=session, active_constraints=["pii_masking", "eu_only"])
    second = judged(owner, document(session_id=session, handoff_sequence=2))
    assert second.finding_codes == ["HC-52"]
    decide(handoff_id=first.pk, reviewer=person(), form=form(first, "abort"))
    _, (difference,) = simulated(owner, {"checks": {"HC-52": {"disposition": "warn"}}})
    assert difference.handoff_id == second.pk
    assert difference.after.codes == ("HC-52",)


def test_nothing_stored_changes(owner):
    judged(owner, document(task_status="completed"))
    before = everything()
    assert simulation.simulate(document=MILD, days=1).differences
    assert everything() == before


def test_a_handoff_whose_body_is_gone_is_counted_apart(owner, own_database, servers):
    gone, kept = judged(owner, document(task_status="completed")), judged(owner, document())
    before = simulation.simulate(document=MILD, days=1).tally
    with psycopg.connect(servers.url("owner", own_database)) as retention:
        retention.execute("ALTER TABLE checkpoint_body DISABLE TRIGGER checkpoint_body_written_once")
        retention.execute(
            "DELETE FROM checkpoint_body b USING checkpoint c WHERE c.id = b.checkpoint_id AND c.handoff_id = %s",
            [gone.pk],
        )
        retention.execute("ALTER TABLE checkpoint_body ENABLE ALWAYS TRIGGER checkpoint_body_written_once")
    after = simulation.simulate(document=MILD, days=1).tally
    assert (after.without_body, after.judged) == (before.without_body + 1, before.judged - 1)
    assert after.differing == before.differing - 1
    assert CheckpointBody.objects.filter(checkpoint__handoff=kept).exists()


def test_a_document_that_killed_its_checks_is_not_judged_again(owner, monkeypatch):
    judged(owner, document())
    handoff = post(owner, document())
    Handoff.objects.filter(pk=handoff.pk).update(check_attempts=3)
    drain()
    asked: list[str] = []

    def listening(submission: Submission, context: CheckContext) -> Judgement:
        asked.append(context.checkpoint_id)
        return judge(submission, context)

    monkeypatch.setattr(simulation, "judge", listening)
    _, differences = simulated(owner, {"checks": {"SYS-02": {"disposition": "ignore"}}})
    assert differences == []
    assert asked
    assert handoff.checkpoint_id not in asked


def test_parts_judged_apart_add_up_to_the_whole(owner):
    for number in range(7):
        judged(owner, document(task_status="completed" if number % 2 else "in_progress"))
    found = simulation.window(days=1)
    assert len(simulation.parts(window=found, size=3)) == -(-found.total // 3)
    whole = simulation.simulate(document=MILD, days=1)
    policy = compile_policy(MILD, version=0)
    tally = Tally()
    for part in reversed(simulation.parts(window=found, size=3)):
        tally.add(Tally.of_json(simulation.judge_part(policy=policy, part=part).tally.as_json()))
    assert tally == whole.tally
    assert tally.seen == found.total


def test_progress_is_told_up_to_the_total(owner):
    judged(owner, document())
    told: list[tuple[int, int]] = []
    report = simulation.simulate(document={}, days=1, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (report.window.total, report.window.total)


def test_a_draft_with_mistakes_is_refused_before_anything_is_read(owner):
    with pytest.raises(InvalidInput, match="surprise"):
        simulation.simulate(document={"surprise": 1}, days=1)


def test_what_came_outside_of_the_window_is_left_out(owner):
    handoff = judged(owner, document(task_status="completed"))
    before = simulation.Window(handoff.received_at - timedelta(days=1), handoff.received_at, 0)
    policy = compile_policy(MILD, version=0)
    found = [
        item.handoff_id
        for part in simulation.parts(window=before)
        for item in simulation.judge_part(policy=policy, part=part).differences
    ]
    assert handoff.pk not in found


# In the background


def started(days: int = 1) -> PolicySimulation:
    author = person()
    draft = drafting.begin(author=author, document=MILD)
    return simulating.start(draft_id=draft.pk, person=author, days=days)


def finish() -> None:
    while simulating.work():
        pass


def test_the_worker_finds_what_the_command_finds(owner):
    judged(owner, document(task_status="completed"))
    report = simulation.simulate(document=MILD, days=1)
    found = started()
    finish()
    found.refresh_from_db()
    assert found.finished_at is not None
    assert Tally.of_json(found.tally) == report.tally
    rows = SimulatedDifference.objects.filter(simulation=found)
    assert {row.handoff_id for row in rows} == {item.handoff_id for item in report.differences}
    assert {(row.outcome_before, row.outcome_after) for row in rows} == {("flagged", "cleared")}


def test_an_empty_window_is_done_at_once(owner, monkeypatch):
    monkeypatch.setattr(simulating, "parts", lambda window: [])
    found = started()
    assert found.finished_at is not None
    assert not simulating.work()


def test_a_part_whose_worker_died_is_judged_by_the_next_one(owner):
    judged(owner, document(task_status="completed"))
    found = started()
    claimed = simulating._claim()
    assert claimed is not None, "a part waits"
    assert not simulating.work(), "one process at a time while its lease runs"
    SimulationPart.objects.filter(pk=claimed[0]).update(lease_until=found.started_at)
    finish()
    found.refresh_from_db()
    assert found.tally is not None


def test_the_late_result_of_a_part_that_another_took_over_is_thrown_away(owner):
    judged(owner, document(task_status="completed"))
    found = started()
    claimed = simulating._claim()
    assert claimed is not None, "a part waits"
    part_id, tries = claimed
    part = SimulationPart.objects.select_related("simulation").get(pk=part_id)
    result = simulation.judge_part(policy=compile_policy(MILD, version=0), part=simulating._part(part))
    SimulationPart.objects.filter(pk=part_id).update(tries=tries + 1)
    simulating._write(part, tries, result)
    assert not SimulatedDifference.objects.filter(simulation=found).exists()
    SimulationPart.objects.filter(pk=part_id).update(lease_until=None)
    finish()


def test_a_part_that_fails_three_times_ends_the_simulation_with_a_reason(owner, monkeypatch):
    judged(owner, document())
    found = started()
    monkeypatch.setattr(simulating, "judge_part", lambda **_: 1 / 0)
    for _ in range(3):
        SimulationPart.objects.filter(simulation=found).update(lease_until=None)
        with pytest.raises(ZeroDivisionError):
            simulating.work()
    assert simulating.give_up() == 0, "its lease may still run"
    SimulationPart.objects.filter(simulation=found).update(lease_until=None)
    assert not simulating.work()
    assert simulating.give_up() == 1
    found.refresh_from_db()
    assert "could not be judged" in found.failure


def test_a_new_simulation_replaces_the_draft_s_earlier_one(owner):
    judged(owner, document(task_status="completed"))
    found = started()
    finish()
    again = simulating.start(draft_id=found.draft_id, person=person(Role.MANAGER), days=2)
    assert list(PolicySimulation.objects.filter(draft=found.draft)) == [again]
    assert not SimulatedDifference.objects.filter(simulation_id=found.pk).exists()
    finish()


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_days_out_of_range_are_refused(owner, days):
    with pytest.raises(InvalidInput, match="1 to 3650"):
        started(days)


def test_a_dispatched_handoff_is_judged_as_it_came_in(owner):
    handoff = judged(owner, document())
    dispatched(owner, handoff)
    _, (difference,) = simulated(
        owner, {"risk": {"rules": [{"when": {"agent_role": "triage"}, "level": "high"}]}}
    )
    assert difference.after.reasons == ("risk",)
