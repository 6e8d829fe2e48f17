"""Waiting for a verdict or a decision: woken at once, holding no connection, bounded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection, connections

from checkpoints import waiting
from checkpoints.services.verification import drain
from reviewqueue.services.deciding import decide
from tests import characters
from tests.api.calling import Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def later(seconds: float, act: Callable[[], Any]) -> threading.Thread:
    def run() -> None:
        time.sleep(seconds)
        try:
            act()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def listening(api: Api) -> waiting.Listener:
    """The listener of this process, connected."""
    ears = waiting.listener()
    with ears.registered("nobody"):
        until(ears.hears.is_set)
    return ears


def test_a_post_that_waits_is_answered_with_its_verdict(api: Api, listening: waiting.Listener) -> None:
    judge = later(0.3, drain)
    started = time.monotonic()
    response = api.submit(characters.document(), Prefer="wait=20")
    elapsed = time.monotonic() - started
    judge.join()
    assert response.status_code == 201
    assert response.headers["Preference-Applied"] == "wait=20"
    assert "Retry-After" not in response.headers
    assert response.json()["verdict"]["outcome"] == "cleared"
    assert elapsed < 5


def test_a_waiter_is_woken_within_200_ms_of_the_commit(api: Api, listening: waiting.Listener) -> None:
    handoff = characters.flagged(api.owner)
    answered: list[float] = []

    def wait() -> None:
        response = api.get(f"/api/v1/handoffs/{handoff.checkpoint_id}?until=decided", Prefer="wait=30")
        answered.append(time.monotonic())
        assert response.json()["state"] == "approved"

    waiter = later(0, wait)
    until(lambda: listening.count == 1)
    time.sleep(0.2)
    decide(handoff_id=handoff.pk, reviewer=characters.person(), form=characters.form(handoff))
    committed = time.monotonic()
    waiter.join(10)
    assert answered
    assert answered[0] - committed < 0.2


def test_time_over_is_answered_without_a_verdict(api: Api) -> None:
    started = time.monotonic()
    response = api.submit(characters.document(), Prefer="wait=1")
    assert 0.9 < time.monotonic() - started < 3
    assert (response.status_code, response.json()["verdict"]) == (201, None)
    assert (response.headers["Retry-After"], response.headers["Preference-Applied"]) == ("1", "wait=1")


@pytest.mark.parametrize(
    ("given", "applied"),
    [("wait=600", "wait=60"), ('wait="5"', "wait=5"), ("respond-async, wait=7", "wait=7"), ("wait=5; x=1", "wait=5"),
     ("wait=0", "wait=0"), ("wait=-1", None), ("wait=soon", None), ("", None)],
)  # fmt: skip
def test_the_preference_is_read_as_rfc_7240_says(api: Api, given: str, applied: str | None) -> None:
    shown = api.submitted()
    response = api.get(f"/api/v1/handoffs/{shown['checkpoint_id']}", Prefer=given)
    assert response.status_code == 200
    assert response.headers.get("Preference-Applied") == applied


def test_what_is_reached_already_does_not_wait(api: Api) -> None:
    flagged, cleared = api.submitted(human_approval_required=True), api.submitted()
    started = time.monotonic()
    for checkpoint_id, goal in (
        (flagged["checkpoint_id"], "verdict"),
        (cleared["checkpoint_id"], "decided"),
    ):
        api.get(f"/api/v1/handoffs/{checkpoint_id}?until={goal}", Prefer="wait=20")
    assert time.monotonic() - started < 2
    problem(api.get(f"/api/v1/handoffs/{flagged['checkpoint_id']}?until=never"), 400, "invalid-parameter")


def test_a_held_answer_may_be_a_304(api: Api) -> None:
    shown = api.submitted()
    path = f"/api/v1/handoffs/{shown['checkpoint_id']}"
    tag = api.get(path).headers["ETag"]
    response = api.get(f"{path}?until=decided", Prefer="wait=5", If_None_Match=tag)
    assert (response.status_code, response.headers["Preference-Applied"]) == (304, "wait=5")


def test_beyond_the_cap_the_answer_comes_at_once(api: Api, settings: Any) -> None:
    settings.MAX_WAITERS = 0
    started = time.monotonic()
    response = api.submit(characters.document(), Prefer="wait=20")
    assert time.monotonic() - started < 2
    assert (response.status_code, response.json()["verdict"]) == (201, None)
    assert int(response.headers["Retry-After"]) >= 1
    assert "Preference-Applied" not in response.headers


def connections_of_this_run() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        (count,) = cursor.fetchone()
    return int(count)


def test_waiters_hold_no_database_connection(api: Api, listening: waiting.Listener) -> None:
    handoff = characters.flagged(api.owner)
    path = f"/api/v1/handoffs/{handoff.checkpoint_id}?until=decided"
    clients = [Api(api.owner) for _ in range(20)]
    before = connections_of_this_run()
    statuses: list[int] = []

    def wait(client: Api) -> None:
        statuses.append(client.get(path, Prefer="wait=30").status_code)
        connections.close_all()

    threads = [threading.Thread(target=wait, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    until(lambda: listening.count == 20, 10)
    until(lambda: connections_of_this_run() <= before, 10)
    decide(handoff_id=handoff.pk, reviewer=characters.person(), form=characters.form(handoff))
    for thread in threads:
        thread.join(10)
    assert statuses == [200] * 20
    assert listening.count == 0


def test_waiting_survives_the_loss_of_the_listener(api: Api, listening: waiting.Listener) -> None:
    handoff = characters.flagged(api.owner)
    answers: list[Any] = []
    waiter = later(
        0,
        lambda: answers.append(
            api.get(f"/api/v1/handoffs/{handoff.checkpoint_id}?until=decided", Prefer="wait=30").json()
        ),
    )
    until(lambda: listening.count == 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND query LIKE 'LISTEN%%' AND pid <> pg_backend_pid()"
        )
        assert cursor.rowcount >= 1
    until(lambda: not listening.hears.is_set())
    decide(handoff_id=handoff.pk, reviewer=characters.person(), form=characters.form(handoff))
    committed = time.monotonic()
    waiter.join(10)
    assert time.monotonic() - committed < 3
    assert answers[0]["state"] == "approved"
    until(listening.hears.is_set)


def test_the_cap_is_for_waiters_at_the_same_time(api: Api) -> None:
    ears = waiting.listener()
    for _ in range(django_settings.MAX_WAITERS + 1):
        with ears.registered("x"):
            pass
    assert ears.count == 0


@pytest.mark.full
def test_two_hundred_wait_beside_plain_requests_and_all_are_answered(
    api: Api, listening: waiting.Listener
) -> None:
    handoff = characters.flagged(api.owner)
    path = f"/api/v1/handoffs/{handoff.checkpoint_id}"
    before = connections_of_this_run()
    answers: list[Any] = []

    def wait() -> None:
        answers.append(api.client.get(f"{path}?until=decided", headers={"Prefer": "wait=60"}))
        connections.close_all()

    threads = [threading.Thread(target=wait) for _ in range(django_settings.MAX_WAITERS)]
    for start in range(0, len(threads), 20):  # twenty connections at a time until each of them waits
        for thread in threads[start : start + 20]:
            thread.start()
        until(partial(lambda expected: listening.count == expected, start + 20), 60)
    until(lambda: connections_of_this_run() <= before, 20)
    refused = api.get(f"{path}?until=decided", Prefer="wait=60")
    assert (refused.status_code, refused.headers["Retry-After"]) == (200, "1")
    assert "Preference-Applied" not in refused.headers
    assert api.submit(characters.document()).status_code == 201
    decide(handoff_id=handoff.pk, reviewer=characters.person(), form=characters.form(handoff))
    for thread in threads:
        thread.join(60)
    assert {response.json()["state"] for response in answers} == {"approved"}
    assert len(answers) == django_settings.MAX_WAITERS
