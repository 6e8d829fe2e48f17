"""A session as people see it: what happened to each handoff, what is missing, who delegated to whom."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from checkpoints.errors import Conflict, NotFound
from checkpoints.models import Attempt, Handoff, Orchestrator
from checkpoints.services import attempts
from checkpoints.services.clock import now
from checkpoints.services.sessions import RunLine
from reviewqueue.models import Role
from reviewqueue.pages import keyset
from reviewqueue.pages.sessions import DEEPEST, Branch, forest, spans
from reviewqueue.services.deciding import decide
from tests import characters
from tests.api.calling import Api
from tests.test_missing_returns import acknowledged, overdue
from tests.visiting import page_text, signed_in


@pytest.fixture
def owner(db: None) -> Orchestrator:
    return characters.orchestrator()


def page(session: str) -> Any:
    response = signed_in(characters.person()).get(f"/sessions/{session}/")
    assert response.status_code == 200
    return response


def words(session: str) -> str:
    return page_text(page(session))


def time_out(owner: Orchestrator, handoff: Handoff) -> None:
    characters.dispatched(owner, handoff)
    past = now() - timedelta(seconds=1)
    Handoff.objects.filter(pk=handoff.pk).update(acknowledge_by=past)
    attempts.sweep_overdue_attempts()
    assert Attempt.objects.filter(handoff=handoff, outcome="timed_out").exists()


def acknowledge(owner: Orchestrator, handoff: Handoff, attempt: int, digest: str | None = None) -> None:
    attempts.acknowledge(
        orchestrator=owner,
        checkpoint_id=handoff.checkpoint_id,
        attempt=attempt,
        content_digest=digest,
        receiver="billing/1",
        actor=characters.caller(owner),
    )


def test_a_handoff_s_whole_way_stands_in_the_order_in_which_it_happened(owner: Orchestrator) -> None:
    handoff = characters.approved(owner)
    time_out(owner, handoff)
    Handoff.objects.filter(pk=handoff.pk).update(not_before=None)
    characters.dispatched(owner, handoff)
    acknowledge(owner, handoff, 2)
    left = words(handoff.session.session_id)
    for part in (
        "decided by a person",
        "dispatched 2 attempts",
        "acknowledged attempt 2",
        "posted by triage/7",
        "checks: flagged, by policy",
        "approved Checked against the claim",
        "ticket issued APR-",
        "attempt 1 dispatched",
        "attempt 1 timed out. Its receiver may still be working; its acknowledgement no longer counts",
        "attempt 2 dispatched",
        "attempt 2 acknowledged billing/1",
    ):
        _, found, left = left.partition(part)
        assert found, part


def test_a_receiver_that_may_still_work_is_marked_while_its_acknowledgement_counts(
    owner: Orchestrator,
) -> None:
    handoff = characters.approved(owner)
    time_out(owner, handoff)
    mark = "Attempt 1 timed out. Its receiver may still be working; a late acknowledgement still counts."
    assert mark in words(handoff.session.session_id)
    assert "may still be working; a late acknowledgement still counts" in page_text(
        signed_in(characters.person()).get(f"/handoffs/{handoff.pk}/")
    )
    acknowledge(owner, handoff, 1)
    assert mark not in words(handoff.session.session_id)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("received", ["being checked", "not dispatched", "not acknowledged"]),
        ("flagged", ["waits for a person", "not dispatched", "not acknowledged"]),
        ("cleared", ["decided by the checks", "not dispatched", "not acknowledged"]),
        ("approved", ["decided by a person", "not dispatched", "not acknowledged"]),
        ("dispatched", ["decided by a person", "dispatched 1 attempt", "awaited until"]),
        ("recoverable", ["decided by a person", "dispatched 1 attempt", "not acknowledged"]),
        ("acknowledged", ["decided by a person", "dispatched 1 attempt", "acknowledged attempt 1"]),
        ("rejected", ["rejected", "not dispatched", "not acknowledged"]),
        ("aborted", ["aborted", "not dispatched", "not acknowledged"]),
        ("cancelled", ["cancelled", "not dispatched", "not acknowledged"]),
    ],
)
def test_three_ticks_say_how_far_it_is(owner: Orchestrator, state: str, expected: list[str]) -> None:
    session = in_state(owner, state)
    body = page(session).content.decode()
    ticks = page_text(page(session))
    for part in expected:
        assert part in ticks
    done = body.count('<li class="done">')
    assert done == sum(part.startswith(("decided", "dispatched", "acknowledged")) for part in expected)


def in_state(owner: Orchestrator, state: str) -> str:
    """The session of a handoff that got there by the ways of the product."""
    if state == "received":
        return characters.post(owner, characters.document()).session.session_id
    if state == "cleared":
        return characters.judged(owner, characters.document()).session.session_id
    if state == "rejected":
        document = characters.document()
        document["completed_steps"][0]["description"] = "Changed after hashing"
        return characters.judged(owner, document).session.session_id
    handoff = characters.flagged(owner)
    if state == "aborted":
        form = characters.form(handoff, "abort")
        decide(handoff_id=handoff.pk, reviewer=characters.person(), form=form)
    elif state == "cancelled":
        caller = characters.caller(owner)
        attempts.cancel(
            orchestrator=owner, checkpoint_id=handoff.checkpoint_id, reason="Called off", actor=caller
        )
    elif state != "flagged":
        form = characters.form(handoff)
        decide(handoff_id=handoff.pk, reviewer=characters.person(), form=form)
        if state == "recoverable":
            time_out(owner, handoff)
        elif state != "approved":
            characters.dispatched(owner, handoff)
        if state == "acknowledged":
            acknowledge(owner, handoff, 1)
    assert characters.reload(handoff).state == state
    return handoff.session.session_id


def test_a_promised_return_is_awaited_and_then_missed(db: None) -> None:
    handoff = acknowledged()
    session = handoff.session.session_id
    assert "return expected" in words(session)
    assert "Return awaited until" in words(session)
    overdue(handoff)
    assert "Return awaited since" in words(session)
    from checkpoints.services.returns import note_missing_returns

    note_missing_returns()
    text = words(session)
    assert "The promised return did not come." in text
    assert "Return awaited" not in text


def test_gaps_conflicts_and_bypasses_are_marked(owner: Orchestrator) -> None:
    api, session = Api(owner), characters.fresh("session")
    for number in (1, 4, 8):
        api.submit(characters.document(session_id=session, handoff_sequence=number, task_id=f"T-{number}"))
    taken = api.submit(characters.document(session_id=session, handoff_sequence=4))
    assert taken.status_code == 409
    handoff = Handoff.objects.get(session__session_id=session, handoff_sequence=1)
    with pytest.raises(NotFound):
        acknowledge(owner, handoff, 7)
    text = words(session)
    assert "Missing: sequence 2 to 3, 5 to 7." in text
    assert "2 sequence numbers missing" in text
    assert "1 conflict: posted under an id or a sequence that was taken, and refused." in text
    assert "sequence conflict" in text
    assert (
        "Bypassed: an acknowledgement came for an attempt that was never given out, at sequence 1 ." in text
    )


def test_content_that_was_not_sent_is_marked_where_it_was_acknowledged(owner: Orchestrator) -> None:
    handoff = characters.judged(owner, characters.document())
    characters.dispatched(owner, handoff)
    acknowledge(owner, handoff, 1)
    with pytest.raises(Conflict):
        acknowledge(owner, handoff, 1, "sha256:" + "0" * 64)
    assert "Other content was acknowledged than was sent." in words(handoff.session.session_id)


def test_the_second_approver_does_not_read_the_first_one_s_reason_here(owner: Orchestrator) -> None:
    handoff = characters.high_risk(owner)
    form = characters.form(handoff, reason="The customer called me")
    decide(handoff_id=handoff.pk, reviewer=characters.person(), form=form)
    assert "The customer called me" not in words(handoff.session.session_id)
    again = characters.form(characters.reload(handoff), reason="Seen too")
    decide(handoff_id=handoff.pk, reviewer=characters.person(Role.SENIOR_OPERATOR), form=again)
    assert "The customer called me" in words(handoff.session.session_id)


# Runs


def line(run_id: str, parent: str | None = None, **changes: Any) -> RunLine:
    given: dict[str, Any] = {
        "run_id": run_id, "parent_run_id": parent, "depth": 0, "checkpoints": 1, "first_sequence": 1,
        "last_sequence": 1, "newest": uuid4(), "newest_state": "cleared",
    }  # fmt: skip
    return RunLine(**{**given, **changes})


def shape(branches: list[Branch]) -> list[Any]:
    return [(branch.line.run_id, shape(branch.children)) for branch in branches]


def test_runs_stand_under_those_that_delegated_to_them() -> None:
    found = forest([line("a"), line("b", "a"), line("c", "b"), line("d", "a"), line("e")])
    assert shape(found) == [("a", [("b", [("c", [])]), ("d", [])]), ("e", [])]
    assert not any(branch.lost for branch in found)


def test_a_run_whose_parent_is_not_here_says_so() -> None:
    (found,) = forest([line("b", "a")])
    assert found.lost


@pytest.mark.parametrize(
    "lines",
    [[line("a", "a")], [line("a", "b"), line("b", "a")], [line("a", "b"), line("b", "c"), line("c", "a")]],
)
def test_runs_in_a_circle_are_all_shown_once(lines: list[RunLine]) -> None:
    found = forest(lines)
    assert [(name, children) for name, children in shape(found)] == [(item.run_id, []) for item in lines]


def test_a_long_chain_of_delegations_is_not_indented_for_ever() -> None:
    lines = [line("r0"), *(line(f"r{number}", f"r{number - 1}") for number in range(1, 100))]

    def depth(branches: list[Branch]) -> int:
        return 1 + max((depth(branch.children) for branch in branches), default=0) if branches else 0

    def count(branches: list[Branch]) -> int:
        return sum(1 + count(branch.children) for branch in branches)

    found = forest(lines)
    assert (depth(found), count(found)) == (DEEPEST + 1, 100)


def test_the_page_shows_the_runs_of_an_engine(owner: Orchestrator) -> None:
    session = characters.fresh("session")
    for number, (run, parent) in enumerate([("main", None), ("helper", "main"), ("main", None)]):
        document = {
            "id": f"checkpoint-{number}", "sessionId": session, "turnId": "t", "runId": run,
            "delegationDepth": int(bool(parent)), "iteration": 0, "lastSequence": number + 1, "messages": [],
            "stablePrefixMessages": 0, "contextState": {"portability": "portable"},
            **({"parentRunId": parent} if parent else {}),
        }  # fmt: skip
        characters.post(owner, json.dumps(document).encode())
    text = words(session)
    assert "main 2 checkpoints, sequence 1 to 3" in text
    assert "helper depth 1 1 checkpoint, sequence 2" in text


def test_rising_numbers_are_put_together() -> None:
    assert spans([]) == []
    assert spans([2, 3, 5, 8, 9, 10]) == ["2 to 3", "5", "8 to 10"]


# A long session


def long_session(owner: Orchestrator, count: int) -> str:
    api, session = Api(owner), characters.fresh("session")
    for begin in range(0, count, 100):
        items = [
            characters.document(session_id=session, handoff_sequence=number + 1, task_id=f"T-{number}")
            for number in range(begin, min(begin + 100, count))
        ]
        response = api.post("/api/v1/checkpoints/batch", {"items": items})
        assert {result["status"] for result in response.json()["results"]} == {201}
    return session


def seconds(session: str, client: Any) -> tuple[float, int]:
    """Processor time of the best of five looks, and its number of queries."""
    best, queries = 60.0, 0
    for _ in range(5):
        with CaptureQueriesContext(connection) as captured:
            began = time.process_time()
            assert client.get(f"/sessions/{session}/").status_code == 200
            best = min(best, time.process_time() - began)
        queries = len(captured)
    return best, queries


def test_a_page_of_a_thousand_handoffs_costs_little_more_than_one_of_fifty(owner: Orchestrator) -> None:
    client = signed_in(characters.person())
    short, long = long_session(owner, 55), long_session(owner, 1000)
    of_short, of_long = seconds(short, client), seconds(long, client)
    assert of_short[1] == of_long[1] < 25
    assert of_long[0] < 3 * of_short[0], f"{of_long[0]:.3f} s, against {of_short[0]:.3f} s"
    body = page(long).content.decode()
    assert body.count('class="ticks"') == keyset.PAGE_SIZE
    assert 'rel="next"' in body
