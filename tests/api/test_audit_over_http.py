"""The audit trail of an orchestrator's own objects, whole enough to verify."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints import transparency
from checkpoints.types import JSONObject
from tests import characters
from tests.api.calling import Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def entries(api: Api, query: str = "") -> list[dict[str, Any]]:
    response = api.get(f"/api/v1/audit{query}")
    assert response.status_code == 200, response.content
    found: list[dict[str, Any]] = response.json()["results"]
    return found


def test_the_trail_tells_the_life_of_a_handoff_and_verifies(api: Api) -> None:
    handoff = characters.approved(api.owner)
    api.verb(handoff.checkpoint_id, "dispatch")
    found = entries(api, f"?subject=handoff:{handoff.checkpoint_id}")
    assert [item["action"] for item in found] == [
        "handoff.dispatched", "ticket.redeemed", "handoff.approved", "ticket.issued", "handoff.flagged",
        "handoff.received",
    ]  # fmt: skip
    previous: str | None = None
    for item in reversed(found):
        assert item["previous_digest"] == previous
        text = transparency.commit_text(
            salt=bytes.fromhex(item["salt"]),
            label=item["actor"]["label"],
            reason=item["reason"],
            before=item["before"],
            after=item["after"],
        )
        assert text == item["text_commitment"]
        members: JSONObject = {
            name: item[name]
            for name in (
                "id", "at", "action", "request_id", "trace_id", "policy_version", "previous_digest", "text_commitment",
            )
        }  # fmt: skip
        members["actor"] = {name: item["actor"][name] for name in ("kind", "id")}
        members["subject"] = item["subject"]
        assert transparency.entry_digest(members) == item["digest"]
        previous = item["digest"]


def test_filters_narrow_the_trail(api: Api) -> None:
    first = api.submitted()
    api.submit(b"[")
    assert {item["subject"]["kind"] for item in entries(api)} == {"handoff", "refusal", "orchestrator"}
    assert [item["action"] for item in entries(api, "?action=refusal.kept")] == ["refusal.kept"]
    assert {item["action"] for item in entries(api, "?actor=system:checks")} == {"handoff.cleared"}
    assert [item["action"] for item in entries(api, f"?subject=orchestrator:{api.owner.name}")] == [
        "token.created"
    ]
    moment = first["verdict"]["checked_at"]
    assert {item["action"] for item in entries(api, f"?from={moment}")} == {"handoff.cleared", "refusal.kept"}
    assert {item["action"] for item in entries(api, f"?to={moment}")} == {"handoff.received", "token.created"}


def test_pages_walk_the_whole_trail(api: Api) -> None:
    for _ in range(4):
        api.submit(characters.document())
    whole = [item["id"] for item in entries(api)]
    seen, path = [], "/api/v1/audit?page_size=2"
    while path:
        body = api.get(path).json()
        seen += [item["id"] for item in body["results"]]
        path = body["next"].split("8000", 1)[1] if body["next"] else ""
    assert seen == whole


def test_nobody_sees_the_trail_of_another(api: Api) -> None:
    shown = api.submitted()
    api.submit(b"[")
    pk = shown["links"]["review"].rstrip("/").rsplit("/", 1)[1]
    stranger = Api()
    for query in ("", f"?subject=handoff:{pk}", f"?subject=orchestrator:{api.owner.name}"):
        assert all(item["subject"]["id"] == stranger.owner.name for item in entries(stranger, query))


@pytest.mark.parametrize(
    "query", ["?subject=x", "?subject=:", "?from=yesterday", "?to=2026-01-01T00:00:00", "?who=me"]
)
def test_filters_that_mean_nothing_are_refused(api: Api, query: str) -> None:
    problem(api.get(f"/api/v1/audit{query}"), 400, "invalid-parameter")
