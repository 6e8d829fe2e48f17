"""The run as a whole: it fails closed, says what it could not judge, and lets one finding speak."""

from __future__ import annotations

import pytest

from checkpoints.checks import conclusions, contradictions, runner
from checkpoints.types import Hit
from tests.checks.documents import (
    all_of,
    changed,
    context_for,
    enveloped,
    hits,
    judged,
    set_at,
    submission,
    without,
)


def codes(document, **known):
    return {hit.code for hit in hits(document, **known)}


def explode(submission, context):
    yield Hit("HC-31", "/completed_steps/0/step_id", "Seen before the crash.")
    raise KeyError(submission.payload["agent_id"])


def explode_late(submission, context, hits):
    raise ValueError("late")


def test_a_crashing_check_is_a_finding_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contradictions, "CHECKS", (explode, *contradictions.CHECKS))
    document = changed(set_at("/task_status", "completed"))
    found = judged(document)
    assert {finding.code for finding in found.findings} == {"SYS-01", "HC-18", "HC-31"}
    assert found.outcome == "flagged"
    assert "check_failure" in found.reasons
    assert not found.complete
    assert "contradictions" not in found.families
    assert "sequence" in found.families


def test_a_crash_names_our_code_and_nothing_of_the_document(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contradictions, "CHECKS", (explode,))
    document = changed(set_at("/agent_id", "unrepeatable-agent-name"))
    crash = next(hit for hit in hits(document) if hit.code == "SYS-01")
    assert "test_runner.explode" in crash.message
    assert "KeyError" in crash.message
    assert "unrepeatable" not in crash.message


def test_a_crash_in_a_conclusion_is_found_too(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conclusions, "LATE_CHECKS", (explode_late,))
    found = judged(changed())
    assert [finding.code for finding in found.findings] == ["SYS-01"]
    assert "conclusions" not in found.families


def test_a_policy_cannot_silence_a_crash(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(contradictions, "CHECKS", (explode,))
    found = judged(changed(), policy={"checks": {"SYS-01": {"disposition": "ignore"}}})
    assert found.outcome == "flagged"
    assert not found.complete


def test_all_families_of_a_clean_handoff_run_to_their_end():
    found = judged(changed())
    assert found.complete
    assert "engine" not in found.families
    assert {"schema", "integrity", "history", "conclusions"} <= set(found.families)


def test_what_a_broken_shape_leaves_unjudged_is_said():
    found = runner.run(
        submission(changed(set_at("/completed_steps", "none"))),
        context_for(submission(changed())),
    )
    assert {"HC-20", "HC-31", "HC-33", "HC-47"} <= set(found.not_judged)
    assert "HC-35" not in found.not_judged
    assert {hit.code for hit in found.hits} == {"HC-03"}


def test_a_broken_element_leaves_its_own_codes_unjudged_and_the_rest_judged():
    document = changed(
        set_at("/completed_steps/0/step_id", 7),
        set_at("/completed_steps/1/output_reference", "file:///x"),
    )
    run = runner.run(submission(document), context_for(submission(document)))
    assert {hit.code for hit in run.hits} == {"HC-03", "HC-58"}
    assert "HC-31" in run.not_judged
    assert "HC-58" not in run.not_judged


def test_a_clean_document_leaves_nothing_unjudged():
    found = submission(changed())
    assert runner.run(found, context_for(found)).not_judged == ()


def test_a_hash_is_not_judged_without_the_members_it_covers():
    document = changed(without("/task_id"))
    run = runner.run(submission(document), context_for(submission(document)))
    assert "HC-11" in run.not_judged
    assert {hit.code for hit in run.hits} == {"HC-01"}


def test_a_task_id_in_the_envelope_alone_is_missing_where_the_hash_covers_it():
    assert codes(changed(all_of(without("/task_id"), enveloped(task_id="CLM-207")))) == {"HC-01"}
    assert codes(changed(enveloped(task_id="CLM-207"))) == set()


def test_other_required_members_may_stand_in_the_envelope_alone():
    moved = all_of(
        without("/agent_id"), without("/agent_role"), enveloped(agent_id="a/1", agent_role="intake")
    )
    assert codes(changed(moved)) == set()


@pytest.mark.parametrize(
    ("change", "speaks", "silent"),
    [
        (
            all_of(set_at("/task_status", "blocked"), set_at("/pending_decisions", [])),
            "HC-30",
            "HC-22",
        ),
        (
            all_of(
                set_at("/completed_steps/1/step_id", "collect"),
                set_at("/completed_steps/1/completed_at", "2026-03-02T08:00:00Z"),
            ),
            "HC-31",
            "HC-41",
        ),
        (set_at("/task_status", 5), "HC-03", "HC-04"),
        (set_at("/timestamp", 1_772_442_000), "HC-03", "HC-05"),
        (set_at("/agent_id", ""), "HC-02", "HC-65"),
        (
            set_at("/tool_outputs/0/full_result_reference", "data:text/plain,x"),
            "HC-57",
            "HC-58",
        ),
        (set_at("/consistency_hash", "0" * 64), "HC-14", "HC-11"),
        (set_at("/recovery_instructions/max_retries", True), "HC-03", "HC-68"),
        (set_at("/handoff_target", "assessor"), "HC-03", "HC-01"),
        (set_at("/handoff_target", "assessor"), "HC-03", "HC-64"),
    ],
)
def test_one_finding_speaks_where_two_see_the_same(change, speaks, silent):
    found = codes(changed(change))
    assert speaks in found
    assert silent not in found


def test_a_high_finding_silences_a_weaker_one_only_while_it_is_not_ignored():
    document = changed(
        set_at("/completed_steps/1/step_id", "collect"),
        set_at("/completed_steps/1/completed_at", "2026-03-02T08:00:00Z"),
    )
    assert "HC-41" in codes(document, policy={"checks": {"HC-31": {"disposition": "ignore"}}})


def test_many_hits_of_one_code_are_shortened_and_counted():
    steps = [{"step_id": f"s{number}", "description": "x"} for number in range(400)]
    found = [hit for hit in hits(changed(set_at("/completed_steps", steps))) if hit.code == "HC-33"]
    assert len(found) == runner.MOST_PER_CODE
    assert found[-1].message.endswith("(300 more like this.)")


def test_what_the_sender_reports_stands_beside_what_was_found():
    reported = {"severity": "high", "pointer": "/completed_steps/0/output_reference", "message": "lost"}
    document = changed(
        set_at("/completed_steps/0/output_reference", None), set_at("/reported_issues", [reported])
    )
    assert {"REP", "HC-33"} <= codes(document)


def test_a_forged_ticket_and_a_dropped_flag_are_two_findings():
    found = codes(changed(set_at("/approval_ticket_reference", "APR-7")), known_ticket=False)
    assert found == {"HC-28", "HC-77"}
