"""Each code speaks where it must, with its severity and pointer, and is silent one step away."""

from __future__ import annotations

import pytest

from checkpoints.checks import sequence
from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.checks.silence import ruling
from checkpoints.policies import compile_policy, did_not_finish
from checkpoints.types import Gate
from tests.checks.cases import CASES, UNCHANGED, Case
from tests.checks.documents import changed, hits, judged, submission

NOT_FROM_A_DOCUMENT = {
    "HC-79",
    "SYS-01",
    "SYS-02",
}  # a sweep, a crash, a dead worker: tested by name elsewhere


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_failing_document_is_found_where_it_fails(case: Case):
    found = [
        finding
        for finding in judged(
            changed(case.fails), policy=case.policy, previous=_predecessor(case.before), **case.known
        ).findings
        if finding.code == case.code
    ]
    assert [(finding.pointer, finding.severity) for finding in found] == [(case.pointer, case.severity)]
    assert found[0].message.endswith((".", "?", "…)")) or case.code == "REP"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_near_miss_stays_silent(case: Case):
    policy = case.policy if case.near_policy is None else case.near_policy
    known = case.known if case.near_known is None else case.near_known
    before = case.near_before or case.before
    found = judged(changed(case.near), policy=policy, previous=_predecessor(before), **known).findings
    # A code of two severities may speak in the other one.
    assert not [
        finding for finding in found if finding.code == case.code and finding.severity == case.severity
    ]


def _predecessor(before):
    return submission(changed(before)) if before is not None else None


def test_every_code_of_the_catalogue_has_a_failing_document_and_a_near_miss():
    ours = {
        code
        for code, entry in CATALOGUE.items()
        if entry.gate is Gate.CHECKS and not entry.family.startswith("engine")
    }
    assert {case.code for case in CASES} == ours - NOT_FROM_A_DOCUMENT


def test_the_base_document_is_clean():
    assert hits(changed(UNCHANGED)) == ()


def test_findings_keep_to_the_formats_of_their_entry():
    for case in CASES:
        found = submission(changed(case.fails))
        assert CATALOGUE[case.code].speaks_about(found.format), case.name


def test_a_missing_return_is_worded_by_the_sweep():
    hit = sequence.missing_return(target_role="assessor", deadline="2026-03-02T10:00:00Z")
    assert (hit.code, hit.pointer) == ("HC-79", "/handoff_target/expected_return")
    assert "assessor handed nothing back by 2026-03-02T10:00:00Z" in hit.message
    assert ruling(hit, compile_policy({}, 1)) == ("low", "warn")


def test_a_run_that_never_finished_names_its_attempts():
    hit = did_not_finish(3)
    assert hit.code == "SYS-02"
    assert "3 times" in hit.message
