"""Many checkpoints in one request: each on its own, in order, to the byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import OperationalError

from checkpoints.canonical import digest_bytes
from checkpoints.models import Handoff, Refusal
from checkpoints.services import admission
from tests import characters
from tests.api.calling import Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def batch(api: Api, items: list[Any] | bytes) -> Any:
    body = items if isinstance(items, bytes) else {"items": items}
    return api.post("/api/v1/checkpoints/batch", body)


def results(api: Api, items: list[Any]) -> list[dict[str, Any]]:
    response = batch(api, items)
    assert response.status_code == 200, response.content
    found: list[dict[str, Any]] = response.json()["results"]
    return found


def test_good_items_are_stored_in_order(api: Api) -> None:
    documents = [characters.document() for _ in range(5)]
    found = results(api, documents)
    assert [item["status"] for item in found] == [201] * 5
    assert [item["handoff"]["checkpoint_id"] for item in found] == [
        item["checkpoint_id"] for item in documents
    ]
    received = Handoff.objects.filter(orchestrator=api.owner).order_by("received_at")
    assert [row.checkpoint_id for row in received] == [item["checkpoint_id"] for item in documents]


def test_each_item_is_its_exact_slice(api: Api) -> None:
    first = json.dumps(characters.document(), indent=3).encode()
    second = json.dumps(characters.document(), separators=(" , ", " : ")).encode()
    found = batch(api, b'{ "items" :[ ' + first + b"\n,\t" + second + b" ]\r\n}").json()["results"]
    assert [item["handoff"]["body_digest"] for item in found] == [digest_bytes(first), digest_bytes(second)]
    name = found[1]["handoff"]["checkpoint_id"]
    assert api.get(f"/api/v1/handoffs/{name}/body").content == second
    assert api.submit(first).status_code == 200


def test_one_bad_item_stops_no_other(api: Api) -> None:
    taken = characters.document()
    api.submit(taken)
    good, last = characters.document(), characters.document()
    found = results(
        api,
        [
            good,
            [],
            {"format": "none/1"},
            good,
            taken | {"task_id": "T-2"},
            characters.document(session_id=""),
            last,
        ],
    )
    assert [item["status"] for item in found] == [201, 422, 422, 200, 409, 422, 201]
    types = [item["problem"]["type"] for item in found if "problem" in item]
    assert types == [
        "/problems/not-an-object", "/problems/unknown-format", "/problems/checkpoint-conflict",
        "/problems/identity-invalid",
    ]  # fmt: skip
    assert api.count() == 3
    kept = Refusal.objects.filter(orchestrator=api.owner)
    assert kept.count() == 4
    assert {bytes(item.body.content)[:2] for item in kept} >= {b"[]"}


def test_the_limits_of_one_hold_for_each_item(api: Api, settings: Any) -> None:
    deep: Any = 1
    for _ in range(64):
        deep = [deep]
    settings.BODY_BYTES = 5000
    large = characters.document(handoff_reason="x" * 6000)
    found = results(api, [characters.document() | {"x": deep}, large, characters.document()])
    assert [item["status"] for item in found] == [422, 413, 201]
    assert found[0]["problem"]["type"] == "/problems/json-limits"


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        (b'{"items":[{"a":1}', 400, "malformed-json"),
        (b'{"items":[{"a":NaN}]}', 400, "malformed-json"),
        (b'{"items":[{"a":1,"a":2}]}', 422, "duplicate-key"),
        (b'{"items":[{"a":"\\u0000"}]}', 422, "forbidden-character"),
        (b'{"items":[{"a":1e999}]}', 422, "number-out-of-range"),
        (b'{"items":[{"a":"\xff"}]}', 400, "invalid-utf8"),
        (b"[]", 422, "not-an-object"),
        (b"{}", 422, "invalid-body"),
        (b'{"items":{}}', 422, "invalid-body"),
        (b'{"items":[]}', 422, "invalid-body"),
        (b'{"items":[' + b",".join([b"{}"] * 101) + b"]}", 422, "invalid-body"),
        (b'{"items":[{}],"more":1}', 422, "invalid-body"),
    ],
)
def test_a_fault_of_the_bytes_refuses_the_whole_request(
    api: Api, body: bytes, status: int, slug: str
) -> None:
    problem(batch(api, body), status, slug)
    assert api.count() == 0
    assert [bytes(item.body.content) for item in Refusal.objects.filter(orchestrator=api.owner)] == [body]


def test_a_batch_above_its_limit_is_refused_unread(api: Api, settings: Any) -> None:
    settings.BATCH_BYTES = 1000
    problem(batch(api, [characters.document()]), 413, "payload-too-large")
    assert not Refusal.objects.filter(orchestrator=api.owner).exists()


def test_items_without_sequences_are_numbered_in_order(api: Api) -> None:
    session = characters.fresh("session")
    found = results(api, [characters.document(session_id=session, handoff_sequence=...) for _ in range(4)])
    assert [item["handoff"]["handoff_sequence"] for item in found] == [1, 2, 3, 4]


def test_the_same_batch_again_changes_nothing(api: Api) -> None:
    documents = [characters.document() for _ in range(3)]
    results(api, documents)
    assert [item["status"] for item in results(api, documents)] == [200, 200, 200]
    assert api.count() == 3


def test_batches_that_share_sessions_in_opposite_order_do_not_block_each_other(api: Api) -> None:
    sessions = [characters.fresh("session") for _ in range(4)]

    def post(order: list[str]) -> Any:
        items = [characters.document(session_id=name, handoff_sequence=...) for name in order]
        return batch(Api(api.owner), items)

    answers = characters.together(
        *[lambda order=order: post(order) for order in (sessions, sessions[::-1]) * 3]
    )
    statuses = [item["status"] for response in answers for item in response.json()["results"]]
    assert statuses == [201] * 24
    assert api.count() == 24


def test_a_batch_whose_commit_fails_is_stored_one_by_one(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def deadlock(*_: Any, **__: Any) -> None:
        raise OperationalError("deadlock detected")

    monkeypatch.setattr(admission, "admit_together", deadlock)
    assert [item["status"] for item in results(api, [characters.document() for _ in range(3)])] == [201] * 3
