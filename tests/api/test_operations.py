"""Health, readiness, metrics, and what is said when a part is away."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import InterfaceError, InternalError, OperationalError, connection
from django.test import Client

from checkpoints.services import admission, health, tokens
from checkpoints.tasks import sweep
from tests import characters
from tests.api.calling import Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


@pytest.fixture
def fresh_start(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has just started: nothing was seen yet."""
    monkeypatch.setattr(health, "_facts", {})
    with connection.cursor() as cursor:
        cursor.execute("UPDATE worker_heartbeat SET at = clock_timestamp() - interval '1 day'")


def ready() -> tuple[int, dict[str, Any]]:
    response = Client().get("/readyz")
    return response.status_code, response.json()


def test_a_process_is_healthy_without_any_other_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}


def test_without_a_worker_since_the_start_it_is_not_ready(fresh_start: None) -> None:
    status, body = ready()
    assert (status, body["status"]) == (503, "starting")
    assert body["checks"] == {
        "database": "ok", "migrations": "ok", "worker": "not seen since start", "broker": "ok",
    }  # fmt: skip


def test_a_sweep_makes_it_ready_and_silence_later_only_degrades(fresh_start: None) -> None:
    sweep()
    assert ready() == (
        200, {"status": "ready", "checks": dict.fromkeys(("database", "migrations", "worker", "broker"), "ok")},
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute("UPDATE worker_heartbeat SET at = clock_timestamp() - interval '1 hour'")
    status, body = ready()
    assert (status, body["status"], body["checks"]["worker"]) == (200, "degraded", "late")


def test_a_lost_broker_degrades_and_checkpoints_are_stored(
    fresh_start: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep()
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(health, "_broker_client", None)
    status, body = ready()
    assert (status, body["status"], body["checks"]["broker"]) == (200, "degraded", "no answer")
    assert Api().submit(characters.document()).status_code == 201


def test_pending_migrations_stop_service(fresh_start: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "django.db.migrations.executor.MigrationExecutor.migration_plan",
        lambda self, nodes: [("0009", False)],
    )
    status, body = ready()
    assert (status, body["checks"]["migrations"]) == (503, "1 not applied")


@pytest.mark.parametrize(
    "error",
    [OperationalError("server closed the connection"), InterfaceError("connection already closed")],
    ids=["lost", "closed"],
)
def test_a_lost_database_is_a_503_with_a_time_to_come_back(
    api: Api, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(**_: Any) -> None:
        raise error

    monkeypatch.setattr(tokens, "authenticate", broken)
    response = api.get("/api/v1/handoffs")
    problem(response, 503, "storage-unavailable")
    assert int(response.headers["Retry-After"]) >= 1


def sql_failure(kind: str) -> Exception:
    """What Django raises when PostgreSQL reports this state."""
    import psycopg.errors

    cause = getattr(psycopg.errors, kind)("no")
    failure: Exception = InternalError("no") if kind == "ReadOnlySqlTransaction" else OperationalError("no")
    failure.__cause__ = cause
    return failure


@pytest.mark.parametrize(
    "kind", ["DiskFull", "TooManyConnections", "ReadOnlySqlTransaction", "LockNotAvailable"]
)
def test_storage_that_cannot_write_is_a_503_and_nothing_is_stored(
    api: Api, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    def broken(**_: Any) -> None:
        raise sql_failure(kind)

    monkeypatch.setattr(admission, "admit", broken)
    problem(api.submit(characters.document()), 503, "storage-unavailable")
    monkeypatch.undo()
    assert api.count() == 0
    assert api.submit(characters.document()).status_code == 201


def test_a_real_lock_timeout_is_a_503(api: Api) -> None:
    """The session's row is held by somebody else for longer than this connection waits."""
    import psycopg

    from checkpoints.waiting import _connection_parameters

    document = characters.document()
    api.submit(document)
    with psycopg.connect(**_connection_parameters()) as holder:
        holder.execute("SELECT FROM session WHERE orchestrator_id = %s FOR UPDATE", [api.owner.pk])
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '200ms'")
        try:
            response = api.submit(characters.document(session_id=document["session_id"], handoff_sequence=2))
        finally:
            connection.close()
    problem(response, 503, "storage-unavailable")
    assert api.count() == 1


def test_a_fault_of_ours_is_a_problem_without_its_text(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: Any) -> None:
        raise RuntimeError("secret-canary")

    monkeypatch.setattr(admission, "admit", broken)
    response = api.submit(characters.document())
    problem(response, 500, "internal-error")
    assert "secret-canary" not in response.content.decode()


def metrics(**headers: str) -> Any:
    return Client().get("/metrics", **headers)


def test_metrics_count_requests_and_show_the_work(api: Api) -> None:
    api.submitted(human_approval_required=True)
    response = metrics(REMOTE_ADDR="127.0.0.1")
    assert response.status_code == 200
    text = response.content.decode()
    assert re.search(
        r'reviewqueue_api_requests_total\{method="POST",route="checkpoint-submit",status="201"\} [1-9]', text
    )
    assert re.search(r'reviewqueue_handoffs_open\{state="flagged"\} [1-9]', text)
    for name in ("reviewqueue_waiters", "reviewqueue_doorbell_failures", "reviewqueue_oldest_seconds"):
        assert name in text


def test_unknown_addresses_make_no_series(api: Api) -> None:
    for number in range(3):
        api.get(f"/api/v1/canary-{number}")
        api.client.generic(f"CANARY{number}", "/api/v1/checks")
    assert "canary" not in metrics(REMOTE_ADDR="::1").content.decode().lower()


@pytest.mark.parametrize(
    "headers",
    [
        {"REMOTE_ADDR": "10.0.0.7"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "10.0.0.7"},
        {"REMOTE_ADDR": "10.0.0.7", "HTTP_X_FORWARDED_FOR": "127.0.0.1"},
        {"REMOTE_ADDR": "10.0.0.7", "HTTP_AUTHORIZATION": "Bearer "},
        {"REMOTE_ADDR": "10.0.0.7", "HTTP_AUTHORIZATION": "Bearer wrong"},
    ],
)
def test_metrics_are_not_for_everybody(db: None, headers: dict[str, str]) -> None:
    problem(metrics(**headers), 401, "unauthenticated")


def test_metrics_are_for_whoever_has_their_token(db: None, settings: Any) -> None:
    settings.METRICS_TOKEN = "let-me-see"
    assert metrics(REMOTE_ADDR="10.0.0.7", HTTP_AUTHORIZATION="Bearer let-me-see").status_code == 200
    problem(metrics(REMOTE_ADDR="10.0.0.7", HTTP_AUTHORIZATION="Bearer let-me"), 401, "unauthenticated")
