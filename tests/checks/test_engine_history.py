"""Every code of the family `engine_history`: one checkpoint against its run, predecessor and journal."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.types import Hit, KnownRun
from tests.checks.engine_documents import (
    changed,
    enveloped,
    hits,
    message,
    mid_batch,
    severity,
    spoken,
    submitted,
    unknown_model,
)
from tests.checks.engine_history_cases import (
    FAILING,
    JOURNAL,
    NEAR_MISSES,
    Pair,
    after,
    event,
    model_answered,
    runs,
)


def judged(case: Pair) -> list[Hit]:
    document = changed(after(), case.now)
    if case.source is not None:
        document["source"] = case.source
    previous = submitted(case.before()) if case.before else None
    return hits(submitted(document), previous=previous, **case.known)


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.code)
def test_a_fault_in_the_history_is_found_where_it_stands(case: Pair) -> None:
    found = judged(case)

    own = [(str(severity(hit)), hit.pointer) for hit in found if hit.code == case.code]
    assert own == [(case.severity, case.pointer)]
    assert {hit.code for hit in found} - {case.code} == set(case.also)


@pytest.mark.parametrize("case", NEAR_MISSES, ids=lambda case: case.code)
def test_what_only_looks_like_the_fault_is_not_found(case: Pair) -> None:
    assert case.code not in {hit.code for hit in judged(case)}


def test_every_code_has_a_fault_and_a_near_miss() -> None:
    codes = {code for code, entry in CATALOGUE.items() if entry.family == "engine_history"}

    assert codes == {f"EH-{number:02}" for number in range(1, 15)}
    assert {case.code for case in FAILING} == codes
    assert {case.code for case in NEAR_MISSES} == codes


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.code)
def test_a_message_is_one_short_sentence_without_python_in_it(case: Pair) -> None:
    for hit in judged(case):
        assert hit.message.endswith(".")
        assert len(hit.message) < 400
        assert not any(word in hit.message for word in ("None", "True", "False", "{'", "['"))


def test_the_journal_counts_the_same_in_an_envelope() -> None:
    document = changed(after(), {"/messages/1": message("user", "x"), "/messages/0": message("system", "y")})

    found = hits(enveloped(document, source={"journal": JOURNAL}), previous=enveloped(mid_batch()))

    assert spoken(found) == [("EH-07", "medium", "/messages/0")]


def test_a_checkpoint_follows_its_predecessor_without_a_finding() -> None:
    assert hits(submitted(after()), previous=submitted(mid_batch())) == []
    assert hits(submitted(model_answered()), previous=submitted(unknown_model())) == []


def test_the_same_checkpoint_handed_over_twice_is_not_its_own_contradiction() -> None:
    once, again = (enveloped(after(), checkpoint_id=name) for name in ("cp-10", "cp-11"))

    assert hits(again, previous=once, same_source_id_digest=once.content_digest) == []


@pytest.mark.parametrize("member", ["sessionId", "turnId", "runId"])
def test_another_run_is_not_compared(member: str) -> None:
    stranger = changed(mid_batch(), {f"/{member}": "other", "/lastSequence": 99, "/inputs": {}})

    assert hits(submitted(after()), previous=submitted(stranger)) == []


def test_a_predecessor_of_another_format_is_not_compared() -> None:
    stranger = replace(submitted(mid_batch()), format="handoff/1")

    assert hits(submitted(changed(after(), {"/inputs": {}})), previous=stranger) == []


def test_a_result_that_returns_to_pending_is_said_once() -> None:
    document = changed(mid_batch(), {"/id": "cp-back", "/lastSequence": 14})
    document["pendingToolRequests"].insert(0, document["pendingModelResponse"]["toolRequests"][0])
    document["completedToolResults"] = []

    (hit,) = hits(submitted(document), previous=submitted(mid_batch()))

    assert hit.code == "EH-05"
    assert hit.message == (
        "Request call_a had a result in cp-rose and stands in pendingToolRequests/0 now: resuming would run it a "
        "second time."
    )


def test_an_unknown_result_may_become_any_other() -> None:
    before = changed(
        after(), {"/completedToolResults/1/outcome": "indeterminate", "/reconciliationRequired": True}
    )
    now = changed(
        after(), {"/id": "cp-sure", "/lastSequence": 20, "/completedToolResults/1/output": "no van"}
    )

    assert (
        hits(submitted(now), previous=submitted(changed(before, {"/completedToolResults/1/errorKind": "x"})))
        == []
    )


def test_only_the_changed_inputs_are_shown() -> None:
    now = changed(after(), {"/inputs/shop": "south", "/inputs/gift": True})

    (hit,) = hits(submitted(now), previous=submitted(mid_batch()))

    assert (hit.expected, hit.actual) == ({"shop": "north"}, {"shop": "south", "gift": True})
    assert hit.message.startswith("inputs changed in shop and gift since cp-rose")


def test_a_resume_that_starts_in_the_next_round_needs_room_for_it() -> None:
    """Nothing is pending, so the engine would start at iteration 1."""
    folded = changed(after(), {"/pendingModelResponse": None})
    narrow, wide = ({**folded, "source": {"resume": {"maxIterations": most}}} for most in (0, 1))

    assert spoken(hits(submitted(narrow))) == [("EH-14", "high", "/source/resume/maxIterations")]
    assert hits(submitted(wide)) == []


def test_an_event_of_a_delegated_run_resolves_nothing() -> None:
    before = changed(
        after(), {"/completedToolResults/1/outcome": "indeterminate", "/reconciliationRequired": True}
    )
    foreign = {**event(12, "tool_result_reconciled"), "runId": "r7"}
    now = changed(after(), {"/id": "cp-sure", "/lastSequence": 20})
    now["source"] = {"journal": [foreign, event(20, "tool_execution_completed")]}

    assert spoken(hits(submitted(now), previous=submitted(before))) == [
        ("EH-13", "high", "/reconciliationRequired")
    ]


def test_a_run_under_itself_is_only_called_that() -> None:
    document = changed(mid_batch(), {"/parentRunId": "r1", "/delegationDepth": 1})

    found = hits(submitted(document), **runs(KnownRun("r1", "s-garden", "t1", "r1", 1)))

    assert spoken(found) == [("EC-08", "high", "/parentRunId")]
