"""Unknown effects on the page: what a resume would do, in words; who found out what, afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkpoints.formats import reread
from reviewqueue.pages.resuming import sentences
from tests.characters import document, orchestrator, person
from tests.samples import engine_document, enveloped
from tests.test_reconciliation import CALLS, unknown, unknown_model_call, waiting
from tests.visiting import decide, detail_url, page_text, signed_in

FINAL = {
    "pendingToolRequests": [],
    "pendingModelResponse": ...,
    "finalOutputReady": True,
    "pendingOutput": "Ok",
}


def said(value: dict[str, Any]) -> list[str]:
    return sentences(reread(json.dumps(enveloped(value)).encode()))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "The engine runs book_seats, still in iteration 0, and then reads the results."),
        (
            {"pendingToolRequests": CALLS},
            "The engine runs find_trains, book_seats and send_mail, still in iteration 0, and then reads the results.",
        ),
        (
            {"pendingToolRequests": [*CALLS, *CALLS]},
            "The engine runs find_trains, book_seats, send_mail and 3 more tools, still in iteration 0, and then "
            "reads the results.",
        ),
        (
            {"pendingToolRequests": []},
            "The engine reads the results of its tools, still in iteration 0; no tool runs again.",
        ),
        (
            {"pendingToolRequests": [], "pendingModelResponse": ..., "iteration": 4},
            "The engine begins iteration 5 with a new call of the model.",
        ),
        (
            {"pendingToolRequests": [], "pendingModelResponse": ..., "resumeSameIteration": True},
            "The engine calls the model, still in iteration 0.",
        ),
        (FINAL, "The engine commits the output that stands ready and does not call the model."),
        (
            {"reconciliationRequired": True},
            "The engine would stop at once: an outcome is to be reconciled, and the document names none.",
        ),
    ],
)
def test_a_checkpoint_without_unknown_effects_has_one_course(changes: dict[str, Any], words: str) -> None:
    assert said(engine_document(**changes)) == [words]


def test_the_courses_of_an_unknown_effect_stand_side_by_side() -> None:
    blocked, happened, did_not = said(unknown("call-b"))
    assert "blocked until it is known whether 1 effect happened" in blocked
    assert happened.startswith("If it happened: the engine reads the results of its tools")
    assert did_not.startswith("If not: the engine runs book_seats")
    assert said(unknown("call-b", "call-c"))[2].startswith(
        "If none did: the engine runs book_seats and send_mail"
    )
    assert said(unknown_model_call())[1:] == [
        "If it happened: the engine takes the answer that was found, still in iteration 0.",
        "If not: the engine calls the model again, still in iteration 0.",
    ]


def test_other_formats_resume_nothing() -> None:
    assert sentences(reread(json.dumps(document()).encode())) == []


def test_the_page_says_what_follows_and_then_what_was_found_out(db: None) -> None:
    handoff = waiting(orchestrator(), unknown("call-b"))
    client = signed_in(person())
    words = page_text(client.get(detail_url(handoff)))
    assert "If it happened: the engine reads the results of its tools" in words
    refused = decide(client, handoff, "approve", reason="Looked", **{"reconcile:call-b": "unknown"})
    assert refused.status_code == 422
    assert "Find out whether call-b happened before this may go out." in page_text(refused)
    done = decide(client, handoff, "approve", reason="Looked", **{"reconcile:call-b": "did_not_happen"})
    assert done.status_code == 303
    assert "Found out: call-b did not happen." in page_text(client.get(detail_url(handoff)))
