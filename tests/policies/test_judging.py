"""From findings and facts to an outcome, its reasons and the people it needs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkpoints.policies import (
    DEFAULT_POLICY,
    did_not_finish,
    judge,
    judge_without_run,
    unreadable_policy,
)
from checkpoints.types import Answer, CheckRule
from tests.checks.documents import (
    all_of,
    changed,
    context_for,
    judged,
    set_at,
    submission,
    without,
)

PENDING = {
    "decision_id": "excess",
    "question": "Waive the excess?",
    "options": ["waive", "keep"],
    "blocking": True,
}
KEY = "sk-proj-4f9aTz81LmQ0xYvB7cRe2HnW"


def test_a_clean_document_is_cleared_and_needs_nobody():
    found = judged(changed())
    assert (found.outcome, found.reasons, found.findings, found.approvals_required) == ("cleared", (), (), 0)
    assert found.complete


def test_warnings_travel_with_a_cleared_document():
    found = judged(changed(set_at("/surprise", 1)))
    assert found.outcome == "cleared"
    assert [(finding.code, finding.disposition) for finding in found.findings] == [("HC-06", "warn")]


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        (set_at("/task_status", "completed"), ["findings"]),
        (
            all_of(set_at("/risk_level", "high"), set_at("/human_approval_required", True)),
            ["risk", "sender"],
        ),
        (set_at("/human_approval_required", True), ["sender"]),
        (set_at("/task_status", "awaiting_approval"), ["awaiting_approval"]),
        (
            all_of(
                set_at("/pending_decisions", [PENDING]),
                set_at("/task_status", "blocked"),
            ),
            ["blocking_decision"],
        ),
        (
            set_at("/reported_issues", [{"severity": "high", "message": "I lost a step"}]),
            ["reported"],
        ),
        (
            set_at("/reported_issues", [{"severity": "whatever", "message": "?"}]),
            ["reported"],
        ),
    ],
)
def test_each_reason_flags_and_is_named(change, reasons):
    found = judged(changed(change))
    assert found.outcome == "flagged"
    assert list(found.reasons) == reasons


def test_a_reported_issue_below_high_is_a_warning():
    found = judged(changed(set_at("/consistency_issues", [{"severity": "low", "message": "odd"}])))
    assert found.outcome == "cleared"
    assert found.findings[0].origin == "reported"


def test_a_blocking_decision_that_was_answered_here_does_not_flag():
    answer = Answer("excess", "Waive the excess?", ("waive", "keep"), "keep", "earlier")
    document = changed(set_at("/pending_decisions", [PENDING]), set_at("/task_status", "blocked"))
    assert judged(document, answers={"excess": answer}).outcome == "cleared"
    other = replace(answer, options=("waive", "keep", "halve"))
    found = judged(document, answers={"excess": other})
    assert list(found.reasons) == ["findings", "blocking_decision"]


def test_reconciliation_and_interrupts_of_other_formats_flag():
    found = submission(changed())
    for fact, reason in (
        ("reconciliation_required", "reconciliation"),
        ("waits_for_person", "interrupt"),
    ):
        waiting = replace(found, facts=replace(found.facts, **{fact: True}))
        assert list(judge(waiting, context_for(found)).reasons) == [reason]


def test_a_rejecting_finding_beats_everything():
    found = judged(changed(without("/task_id"), set_at("/human_approval_required", True)))
    assert found.outcome == "rejected"
    assert list(found.reasons) == ["findings", "sender"]
    assert found.approvals_required == 0


@pytest.mark.parametrize(("risk", "people"), [("low", 1), ("medium", 2), ("high", 3)])
def test_the_policy_says_how_many_people_each_risk_needs(risk, people):
    change = all_of(set_at("/risk_level", risk), set_at("/human_approval_required", True))
    found = judged(changed(change), policy={"approvals": {"low": 1, "medium": 2, "high": 3}})
    assert (found.outcome, found.approvals_required) == ("flagged", people)


def test_the_default_risk_counts_only_where_nobody_names_one():
    assert judged(changed(), policy={"risk": {"default": "high"}}).risk == "high"
    assert judged(changed(set_at("/risk_level", "low")), policy={"risk": {"default": "high"}}).risk == "low"


@pytest.mark.parametrize(
    ("when", "matches"),
    [
        ({"target_role": "assessor"}, True),
        ({"target_role": ["payments", "assessor"]}, True),
        ({"target_role": "payments"}, False),
        ({"agent_role": "intake", "task_id": "CLM-207"}, True),
        ({"agent_role": "intake", "task_id": "CLM-208"}, False),
        ({"format": "handoff/1"}, True),
        ({"tool_name": "find_policy"}, True),
        ({"finding": "HC-06"}, True),
        ({"finding": ["HC-07", "HC-08"]}, False),
    ],
)
def test_a_risk_rule_raises_the_risk_where_all_of_it_matches(when, matches):
    policy = {"risk": {"rules": [{"when": when, "level": "high"}]}}
    found = judged(changed(set_at("/surprise", 1), set_at("/risk_level", "low")), policy=policy)
    assert (found.risk, found.outcome) == (("high", "flagged") if matches else ("low", "cleared"))


def test_a_policy_may_soften_harden_and_ignore_a_code():
    document = changed(set_at("/task_status", "completed"))
    assert judged(document, policy={"checks": {"HC-18": {"severity": "medium"}}}).outcome == "cleared"
    assert judged(document, policy={"checks": {"HC-18": {"disposition": "reject"}}}).outcome == "rejected"
    ignored = judged(document, policy={"checks": {"HC-18": {"disposition": "ignore"}}})
    assert (ignored.outcome, ignored.findings) == ("cleared", ())
    hardened = judged(changed(set_at("/surprise", 1)), policy={"checks": {"HC-06": {"severity": "high"}}})
    assert hardened.outcome == "flagged"


def test_a_rejecting_code_may_go_to_a_person_instead():
    document = changed(without("/task_id"))
    assert judged(document, policy={"checks": {"HC-01": {"disposition": "review"}}}).outcome == "flagged"
    assert judged(document, policy={"checks": {"HC-01": {"severity": "low"}}}).outcome == "cleared"


@pytest.mark.parametrize(
    ("disposition", "outcome"),
    [
        ("review", "flagged"),
        ("reject", "rejected"),
        ("warn", "cleared"),
        ("ignore", "cleared"),
    ],
)
def test_the_policy_says_what_becomes_of_opaque_documents(disposition, outcome):
    document = {"session_id": "s", "format": "opaque", "blob": "x"}
    found = judged(document, policy={"opaque": disposition})
    assert (found.outcome, found.complete) == (outcome, True)
    assert bool(found.findings) == (disposition != "ignore")


def test_findings_stand_by_severity_code_and_pointer():
    found = judged(
        changed(
            set_at("/surprise", 1),
            set_at("/another", 1),
            set_at("/task_status", "completed"),
            without("/task_id"),
        )
    )
    order = [(finding.code, finding.pointer) for finding in found.findings]
    assert order == [
        ("HC-01", "/task_id"),
        ("HC-18", "/in_progress_step"),
        ("HC-06", "/another"),
        ("HC-06", "/surprise"),
    ]


def test_a_policy_that_steers_an_unknown_code_is_a_finding_and_flags():
    found = submission(changed())
    policy = replace(DEFAULT_POLICY, checks={"HC-999": CheckRule()})
    result = judge(found, replace(context_for(found), policy=policy))
    assert [finding.code for finding in result.findings] == ["SYS-03"]
    assert "HC-999" in result.findings[0].message
    assert (result.outcome, result.complete) == ("flagged", False)


@pytest.mark.parametrize("hit", [did_not_finish(3), unreadable_policy(7, "no JSON")], ids=["dead", "policy"])
def test_what_was_never_run_is_flagged_and_incomplete(hit):
    found = submission(changed())
    result = judge_without_run(found, context_for(found), hit)
    assert (result.outcome, list(result.reasons)) == (
        "flagged",
        ["findings", "check_failure"],
    )
    assert not result.complete
    assert result.families == ()


def test_no_finding_repeats_a_secret():
    document = changed(
        set_at("/completed_steps/0/output_reference", f"see {KEY}\nand more"),
        set_at(
            "/pending_decisions/0/recommendation",
            "no option but " + "ghp_" + "a1B2c3D4" * 5,
        ),
        set_at("/reported_issues", [{"severity": "low", "message": f"found {KEY}"}]),
    )
    written = str(judged(document).findings)
    assert {"HC-10", "HC-57", "REP"} <= {finding.code for finding in judged(document).findings}
    assert "4f9aTz81" not in written
    assert "a1B2c3D4" not in written


def test_tokens_are_counted_with_the_given_counter_or_estimated():
    found = submission(changed())
    context = context_for(found)
    estimated = judge(found, context)
    assert estimated.document_tokens > estimated.context_tokens > 0
    counted = judge(found, replace(context, count_tokens=len))
    assert counted.document_tokens > 2 * estimated.document_tokens
