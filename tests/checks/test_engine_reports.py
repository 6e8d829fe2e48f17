"""Faults that users of public agent frameworks reported, each as a small checkpoint of our own."""

from __future__ import annotations

import pytest

from tests.checks.engine_cases import A_PICTURE
from tests.checks.engine_documents import (
    DROP,
    Document,
    changed,
    final,
    hits,
    message,
    mid_batch,
    request,
    result,
    submitted,
)


def _invalid_state_was_saved() -> Document:
    """State was stored without validation, and the thread could never be loaded again."""
    return changed(mid_batch(), {"/messages": "Twelve roses", "/iteration": "zero"})


def _an_answer_reached_the_wrong_tool() -> Document:
    """Two tools waited; the resume value of one was given to the other."""
    return changed(
        mid_batch(),
        {
            "/pendingToolRequests": [],
            "/completedToolResults/-": result("call_b", "check_stock", output="yes"),
        },
    )


def _one_of_two_parallel_calls_surfaced() -> Document:
    return changed(mid_batch(), {"/pendingModelResponse/toolRequests/-": request("call_c", "write_card")})


def _pictures_were_kept_in_every_checkpoint() -> Document:
    return changed(mid_batch(), {"/messages/1/parts/-": A_PICTURE})


def _an_interrupt_left_calls_without_results() -> Document:
    return changed(mid_batch(), {"/pendingToolRequests": [], "/completedToolResults": []})


def _a_call_without_result_wedged_the_thread() -> Document:
    return changed(mid_batch(), {"/pendingToolRequests/0": DROP})


def _calls_were_duplicated_after_a_resume() -> Document:
    asked = mid_batch()["pendingModelResponse"]["toolRequests"]
    return changed(mid_batch(), {"/pendingModelResponse/toolRequests": [*asked, *asked]})


def _a_handoff_kept_a_call_without_its_output() -> Document:
    return changed(mid_batch(), {"/completedToolResults": []})


def _a_gated_tool_was_skipped_beside_a_handoff() -> Document:
    return changed(
        mid_batch(),
        {
            "/pendingModelResponse/toolRequests/-": request("call_h", "hand_over", to="driver"),
            "/completedToolResults/-": result("call_h", "hand_over", output="driver"),
            "/pendingToolRequests": [],
        },
    )


def _approved_arguments_were_not_those_executed() -> Document:
    return changed(mid_batch(), {"/pendingToolRequests/0/arguments/day": "Sunday"})


def _a_restore_doubled_the_conversation() -> Document:
    document = final()
    document["messages"] += document["messages"][1:]
    return document


def _a_retry_repeated_a_paid_effect() -> Document:
    document = mid_batch()
    document["pendingToolRequests"].insert(0, document["pendingModelResponse"]["toolRequests"][0])
    return document


def _a_long_running_call_changed_its_id() -> Document:
    return changed(mid_batch(), {"/pendingToolRequests/0/id": "call_b-stream"})


def _a_response_event_was_stored_twice() -> Document:
    return changed(final(), {"/messages/-": message("tool", '{"roses": 40}', tool_call_id="c1")})


REPORTS = (
    ("langchain-ai/langgraph/issues/6491", _invalid_state_was_saved, {"EC-01"}),
    ("langchain-ai/langgraph/issues/6533", _an_answer_reached_the_wrong_tool, {"EC-38"}),
    ("langchain-ai/langgraph/issues/6624", _one_of_two_parallel_calls_surfaced, {"EC-36"}),
    ("bytedance/deer-flow/issues/3011", _pictures_were_kept_in_every_checkpoint, {"EC-53"}),
    ("langchain-ai/deepagents/pull/4948", _an_interrupt_left_calls_without_results, {"EC-36"}),
    ("langchain-ai/open-swe/pull/1604", _a_call_without_result_wedged_the_thread, {"EC-36"}),
    ("openai/openai-agents-js/issues/701", _calls_were_duplicated_after_a_resume, {"EC-15"}),
    ("openai/openai-agents-python/issues/4685", _a_handoff_kept_a_call_without_its_output, {"EC-36"}),
    ("openai/openai-agents-js/pull/1768", _a_gated_tool_was_skipped_beside_a_handoff, {"EC-36"}),
    ("extra-org/extra/issues/139", _approved_arguments_were_not_those_executed, {"EC-39"}),
    ("microsoft/agent-framework/issues/2667", _a_restore_doubled_the_conversation, {"EC-49"}),
    ("microsoft/agent-framework/issues/3226", _a_restore_doubled_the_conversation, {"EC-49"}),
    ("microsoft/agent-framework/issues/3938", _a_retry_repeated_a_paid_effect, {"EC-14"}),
    ("google/adk-python/issues/5064", _a_long_running_call_changed_its_id, {"EC-35", "EC-36"}),
    ("ag-ui-protocol/ag-ui/issues/1074", _a_response_event_was_stored_twice, {"EC-49"}),
)


@pytest.mark.parametrize(("report", "document", "codes"), REPORTS, ids=[report for report, _, _ in REPORTS])
def test_a_reported_fault_is_found(report: str, document: object, codes: set[str]) -> None:
    assert callable(document)
    assert {hit.code for hit in hits(submitted(document()))} == codes, f"https://github.com/{report}"


def test_values_of_a_later_step_written_into_an_earlier_checkpoint_are_found() -> None:
    """https://github.com/langchain-ai/langgraph/issues/8748: one id, two contents."""
    stored = submitted(mid_batch())
    rewritten = submitted(changed(mid_batch(), {"/messages/-": message("assistant", "Van 7 is booked.")}))

    found = hits(rewritten, same_source_id_digest=stored.content_digest)

    assert [hit.code for hit in found] == ["EH-01"]
