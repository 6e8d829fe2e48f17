"""What was refused is kept for a while, within a bound, for its orchestrator only."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.canonical import digest_bytes
from checkpoints.models import AuditEntry, Refusal, RefusalBody
from checkpoints.services.expiry import delete_expired_refusals
from tests import characters
from tests.api.calling import Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def listed(api: Api) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get("/api/v1/refusals").json()["results"]
    return found


def test_a_refusal_is_listed_with_its_facts_and_gives_its_bytes(api: Api) -> None:
    body = b'{"session_id": "s-1", "checkpoint_id": "../x", "handoff_sequence": 1}'
    api.submit(body)
    (shown,) = listed(api)
    assert set(shown) == {
        "id", "at", "status", "type", "errors", "session_id", "checkpoint_id", "body_digest", "size", "expires_at",
    }  # fmt: skip
    assert (shown["status"], shown["type"], shown["session_id"], shown["checkpoint_id"]) == (
        422, "/problems/identity-invalid", "s-1", None,
    )  # fmt: skip
    assert (shown["body_digest"], shown["size"]) == (digest_bytes(body), len(body))
    assert [error["code"] for error in shown["errors"]] == ["HC-02"]
    answer = api.get(f"/api/v1/refusals/{shown['id']}/body")
    assert answer.content == body
    assert answer.headers["Content-Type"] == "application/octet-stream"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    entry = AuditEntry.objects.get(subject_kind="refusal", subject_id=shown["id"])
    assert (entry.action, entry.actor_id, entry.subject_index) == ("refusal.kept", api.owner.name, 0)


def test_the_newest_stand_first_in_pages(api: Api) -> None:
    for number in range(5):
        api.submit(f"[{number}]".encode())
    first = api.get("/api/v1/refusals?page_size=2").json()
    path = first["next"].split("8000", 1)[1]
    second = api.get(path).json()
    digests = [item["body_digest"] for item in (*first["results"], *second["results"])]
    assert digests == [digest_bytes(f"[{number}]".encode()) for number in (4, 3, 2, 1)]
    assert api.get(second["previous"].split("8000", 1)[1]).json()["results"] == first["results"]


def test_the_oldest_bodies_make_room(api: Api, settings: Any) -> None:
    settings.QUARANTINE_BYTES = 10_000
    bodies = [b"[" + b" " * 3000 + str(number).encode() for number in range(5)]
    for body in bodies:
        problem(api.submit(body), 400, "malformed-json")
    assert [item["body_digest"] for item in listed(api)] == [digest_bytes(body) for body in bodies[:1:-1]]
    assert Refusal.objects.filter(orchestrator=api.owner).count() == 5, "the facts stay"
    other = Api()
    other.submit(bodies[0])
    assert len(listed(other)) == 1
    assert len(listed(api)) == 3


def test_a_body_larger_than_all_room_pushes_nothing_out(api: Api, settings: Any) -> None:
    settings.QUARANTINE_BYTES = 5000
    api.submit(b"[1")
    api.submit(b"[" + b" " * 6000)
    assert [item["size"] for item in listed(api)] == [2]


def test_bodies_go_after_their_period_and_facts_stay(api: Api, settings: Any) -> None:
    settings.QUARANTINE_DAYS = 0
    api.submit(b"[1")
    refusal = Refusal.objects.get(orchestrator=api.owner)
    assert refusal.expires_at == refusal.at
    delete_expired_refusals()
    assert not RefusalBody.objects.filter(refusal=refusal).exists()
    problem(api.get(f"/api/v1/refusals/{refusal.pk}/body"), 404, "not-found")
    assert listed(api) == []


def test_a_body_without_the_right_scope_is_not_kept(api: Api) -> None:
    reader = Api(api.owner, "handoffs:read")
    problem(reader.submit(b"["), 403, "insufficient-scope")
    assert listed(api) == []


def test_what_is_kept_survives_beside_good_posts(api: Api) -> None:
    api.submit(b"[")
    api.submit(characters.document())
    assert len(listed(api)) == 1
