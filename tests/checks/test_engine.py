"""Every code of the family `engine`: it speaks where it must, exactly there, and nowhere near."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.checks.runner import run
from tests.checks.engine_cases import FAILING, Base, Case
from tests.checks.engine_documents import (
    DROP,
    changed,
    context,
    enveloped,
    final,
    hits,
    mid_batch,
    policy,
    result,
    severity,
    spoken,
    submitted,
    unknown_model,
)
from tests.checks.engine_near_misses import NEAR_MISSES, NearMiss

BASES = (mid_batch, final, unknown_model, policy)


@pytest.mark.parametrize("base", BASES)
def test_a_document_without_fault_has_no_finding(base: Base) -> None:
    assert hits(submitted(base())) == []


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.code)
def test_a_fault_is_found_where_it_stands(case: Case) -> None:
    found = hits(submitted(changed(case.base(), case.changes)))

    own = [(str(severity(hit)), hit.pointer) for hit in found if hit.code == case.code]
    assert own == [(case.severity, case.pointer)]
    # The parent of these documents is not known here; engine_history has tests of its own.
    assert {hit.code for hit in found} - {case.code, "EH-09"} == set(case.also)


@pytest.mark.parametrize("case", NEAR_MISSES, ids=lambda case: case.code)
def test_what_only_looks_like_the_fault_is_not_found(case: NearMiss) -> None:
    assert case.code not in {hit.code for hit in hits(submitted(changed(case.base(), case.changes)))}


def test_every_code_has_a_fault_and_a_near_miss() -> None:
    codes = {code for code, entry in CATALOGUE.items() if entry.family == "engine"}

    assert codes == {f"EC-{number:02}" for number in range(1, 56)}
    assert {case.code for case in FAILING} == codes
    assert {case.code for case in NEAR_MISSES} == codes


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.code)
def test_a_message_is_one_short_sentence_without_python_in_it(case: Case) -> None:
    for hit in hits(submitted(changed(case.base(), case.changes))):
        assert hit.message.endswith(".")
        assert len(hit.message) < 400
        assert not any(word in hit.message for word in ("None", "True", "False", "{'", "['"))


def test_a_repeated_effect_is_named_with_both_places() -> None:
    document = changed(mid_batch(), {"/pendingToolRequests/0/id": "call_a"})

    sentences = [hit.message for hit in hits(submitted(document)) if hit.code == "EC-14"]

    assert sentences == [
        "Request call_a stands in pendingToolRequests/0 and in completedToolResults/0: resuming would run it again."
    ]


def test_many_ids_are_counted_instead_of_listed() -> None:
    document = mid_batch()
    document["completedToolResults"] += [
        result(f"c{index}", "greet", "indeterminate", errorKind="x") for index in range(7)
    ]
    document["activeInvocationId"] = None
    document["pendingToolRequests"] *= 2

    sentences = {hit.code: hit.message for hit in hits(submitted(document))}

    assert sentences["EC-17"].startswith("The outcome of c0, c1, c2, c3, c4 and 2 more is indeterminate")
    assert sentences["EC-34"].startswith(
        "2 tool requests are pending, the first is call_b, but activeInvocationId is"
    )


def test_expected_and_actual_say_both_sides() -> None:
    document = changed(mid_batch(), {"/pendingToolRequests/0/arguments/stops": 9})

    (hit,) = hits(submitted(document))

    assert hit.expected == {"day": "Friday", "stops": 1}
    assert hit.actual == {"day": "Friday", "stops": 9}


def test_the_same_document_in_an_envelope_has_the_same_findings() -> None:
    for case in FAILING:
        document = changed(case.base(), case.changes)
        if document.get("sessionId") != "s-garden":
            continue
        assert spoken(hits(enveloped(document))) == spoken(hits(submitted(document))), case


def test_an_unknown_member_of_the_envelope_is_named() -> None:
    found = hits(enveloped(mid_batch(), surprise=1, reported_issues=[]))

    assert spoken(found) == [("EC-55", "low", "/surprise")]


def test_a_member_of_the_envelope_inside_the_payload_is_unknown_there() -> None:
    found = hits(enveloped(changed(mid_batch(), {"/target_role": "driver"})))

    assert spoken(found) == [("EC-55", "low", "/target_role")]


def test_the_order_of_members_changes_no_finding() -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: turned(value[name]) for name in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    for case in FAILING:
        document = changed(case.base(), case.changes)
        assert spoken(hits(submitted(turned(document)))) == spoken(hits(submitted(document))), case


def test_an_integer_written_as_text_is_read_as_its_number() -> None:
    document = changed(
        mid_batch(),
        {
            "/lastSequence": "9",
            "/pendingModelResponse/usage": {"inputTokens": "10", "outputTokens": "2", "totalTokens": "3"},
        },
    )

    assert [code for code, _, _ in spoken(hits(submitted(document)))] == [*["EC-04"] * 4, "EC-51"]


def test_the_habits_of_the_engine_raise_no_alarm() -> None:
    """formats.md §0: the invocation stays named, results add up over the turn, default ids repeat."""
    document = changed(
        final(),
        {
            "/id": "checkpoint-6",
            "/runId": "run-1",
            "/completedToolResults/-": {
                "requestId": "c0",
                "name": "greet",
                "outcome": "success",
                "output": None,
            },
        },
    )

    assert hits(submitted(document)) == []


def test_a_broken_list_is_reported_once_and_nothing_is_concluded_from_it() -> None:
    for member in ("pendingToolRequests", "completedToolResults", "messages", "pendingModelResponse"):
        found = hits(submitted(changed(mid_batch(), {f"/{member}": 7})))
        assert spoken(found) == [("EC-01", "high", f"/{member}")]


def test_the_run_says_which_codes_the_broken_shape_left_unjudged() -> None:
    judged = run(submitted(changed(mid_batch(), {"/pendingToolRequests": 7})), context())

    assert {"EC-14", "EC-29", "EC-35", "EC-36", "EH-05"} <= set(judged.not_judged)
    assert "EC-41" not in judged.not_judged
    assert judged.failures == ()


def test_a_document_of_nothing_names_each_required_member_once() -> None:
    document = {"format": "prompty.engine/1", "sessionId": "s-garden"}

    found = hits(submitted(document))

    assert {hit.code for hit in found} == {"EC-01"}
    assert len(found) == 14
    assert all(hit.message.startswith(f"{hit.pointer[1:]} is missing") for hit in found)


def test_many_messages_without_metadata_are_one_finding() -> None:
    document = final()
    for index in range(5):
        del document["messages"][index]["metadata"]
    document["completedToolResults"] = []

    (hit,) = hits(submitted(document))

    assert (hit.code, hit.pointer) == ("EC-52", "/messages/0/metadata")
    assert hit.message.startswith("5 messages have no metadata, the first is messages/0")


@pytest.mark.parametrize(
    ("pending", "asked", "same"),
    [
        ('{"sum": 1.10}', {"sum": 1.1}, True),
        ('{"sum": 1.10}', '{"sum": 1.1}', True),
        ('{"sum": 1e400}', '{"sum": 1e401}', False),
        ('{"sum": 1.10000000000000000001}', '{"sum": 1.1}', False),
        ("", {}, True),
        ("not json", "not json", True),
        ("not json", {}, False),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', True),
        ('{"a": 1}', '{"a": 1, "b": null}', False),
        ('{"n": 100000000000000000001}', '{"n": 100000000000000000002}', False),
        ("[" * 100_000, "[" * 100_000, True),
        ("[" * 100_000, "[" * 99_999, False),
        ([1, 2], [2, 1], False),
        ('"rose"', "rose", True),
    ],
)
def test_arguments_are_compared_by_their_values(pending: object, asked: object, same: bool) -> None:
    document = changed(
        mid_batch(),
        {
            "/pendingToolRequests/0/arguments": pending,
            "/pendingModelResponse/toolRequests/1/arguments": asked,
        },
    )

    assert ("EC-39" in {hit.code for hit in hits(submitted(document))}) is not same


def test_a_document_that_was_never_an_engine_checkpoint_is_left_alone() -> None:
    judged = run(submitted({"session_id": "s1", "checkpoint_id": "cp-1", "id": ""}), context())

    assert not [hit for hit in judged.hits if hit.code.startswith(("EC", "EH"))]


def test_a_long_value_is_cut_in_the_finding() -> None:
    document = changed(
        mid_batch(), {"/pendingToolRequests/0/arguments": {"note": "x" * 50_000}, "/iteration": DROP}
    )

    for hit in hits(submitted(document)):
        assert len(str(hit.actual)) < 2000
        assert len(hit.message) < 1000
