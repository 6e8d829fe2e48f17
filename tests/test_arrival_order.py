"""Rows of one session are judged in the order of their numbers, whatever arrives first."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from checkpoints.models import CheckRun, Handoff
from checkpoints.services import verification
from tests import characters

type Said = dict[int, list[tuple[str, str]]]


@contextmanager
def judging() -> Iterator[None]:
    """A worker that drains all the time."""
    over = threading.Event()

    def work() -> None:
        try:
            while not over.is_set():
                verification.drain()
                over.wait(0.001)
        finally:
            connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def said(session: str, owner: Any) -> Said:
    """Findings by sequence number."""
    runs = CheckRun.objects.filter(handoff__orchestrator=owner, handoff__session__session_id=session)
    return {
        run.handoff.handoff_sequence: [(item["code"], item["pointer"]) for item in run.findings]
        for run in runs.select_related("handoff")
    }


@pytest.mark.parametrize("rounds", [10, pytest.param(200, marks=pytest.mark.full)])
def test_two_posts_at_once_are_judged_in_their_order(own_database: str, rounds: int) -> None:
    owner, chance = characters.orchestrator(), random.Random(11)  # noqa: S311 - no secret
    sessions = [characters.fresh("session") for _ in range(rounds)]
    never = threading.Event()
    with judging():
        for session in sessions:
            pair = [
                characters.document(session_id=session, handoff_sequence=number, task_id=f"T-{number}")
                for number in (1, 2)
            ]
            delays = (chance.random() / 20, 0.0)  # number 1 comes late, as a busy machine delays it

            def post(value: dict[str, Any], delay: float) -> None:
                never.wait(delay)
                characters.post(owner, value)

            calls = [partial(post, value, delay) for value, delay in zip(pair, delays, strict=True)]
            assert characters.together(*calls) == [None, None]
        while Handoff.objects.of(owner).unjudged().exists():
            never.wait(0.01)
    rows = list(Handoff.objects.of(owner).with_names().order_by("checked_at"))
    assert [row.finding_codes for row in rows] == [[]] * (2 * rounds)
    for session in sessions:
        assert [row.handoff_sequence for row in rows if row.session.session_id == session] == [1, 2]


def test_one_that_never_comes_holds_the_next_for_a_moment_only(own_database: str) -> None:
    owner, session = characters.orchestrator(), characters.fresh("session")
    characters.judged(owner, characters.document(session_id=session))
    late = characters.judged(
        owner, characters.document(session_id=session, handoff_sequence=5, task_id="T-5")
    )
    assert (late.state, late.finding_codes) == ("cleared", ["HC-46"])
    assert late.checked_at is not None
    waited = (late.checked_at - late.received_at).total_seconds()
    assert verification.GAP_SECONDS <= waited < verification.GAP_SECONDS + 10


def test_a_session_that_begins_midway_does_not_wait(own_database: str) -> None:
    owner = characters.orchestrator()
    verification.drain()
    first = characters.post(owner, characters.document(handoff_sequence=3))
    assert [item.handoff.pk for item in verification.claim(key=1, limit=64, tried="= 0")] == [first.pk]


def test_fifty_shuffled_posts_are_judged_as_in_order(own_database: str) -> None:
    """The worker stands still meanwhile."""
    chance = random.Random(5)  # noqa: S311 - no secret
    found = []
    name = characters.fresh("session")
    values = [contradicting(name, number) for number in range(1, 51)]
    for shuffled in (False, True):
        owner = characters.orchestrator()
        order = chance.sample(values, len(values)) if shuffled else values
        for value in order:
            characters.post(owner, value)
        while verification.drain():
            pass
        found.append(said(name, owner))
    in_order, any_order = found
    assert any_order == in_order
    assert len(in_order) == 50
    codes = {code for findings in in_order.values() for code, _ in findings}
    assert {"HC-47", "HC-52"} <= codes
    assert not {"HC-45", "HC-46"} & codes


def test_a_backlog_of_one_session_is_not_searched_anew_for_every_row(own_database: str) -> None:
    """Looking for due rows passes every waiting row of the session, so the drain must rarely have to look."""
    owner, session, waiting = characters.orchestrator(), characters.fresh("session"), 100
    verification.drain()
    for number in range(1, waiting + 1):
        characters.post(owner, characters.document(session_id=session, handoff_sequence=number))
    with CaptureQueriesContext(connection) as said_to_the_database:
        assert verification.drain(seconds=60) == waiting
    claims = [query["sql"] for query in said_to_the_database if "SET check_attempts" in query["sql"]]
    searches = [sql for sql in claims if "AS judged" not in sql]
    assert len(claims) >= waiting
    assert len(searches) <= waiting / 10


def contradicting(session: str, number: int) -> dict[str, Any]:
    """Every seventh forgets a step, every fifth a constraint."""
    base = characters.document(session_id=session)
    step = base["completed_steps"][0] | {"completed_at": "2026-03-02T09:00:00Z"}
    names = [f"step-{index}" for index in range(1, number + 1)]
    return characters.document(
        session_id=session,
        handoff_sequence=number,
        agent_role=("triage", "legal")[number % 2],
        completed_steps=[step | {"step_id": name} for name in (names[1:] if number % 7 == 0 else names)],
        active_constraints=["pii_masking"] if number % 5 == 0 else ["pii_masking", "eu_only"],
    )
