"""The handoff as machines see it: one shape, a strong tag, exact bytes, lists in pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings

from checkpoints.models import Handoff
from checkpoints.services.bodies import current_body
from checkpoints.services.verification import drain
from reviewqueue.services.deciding import decide
from reviewqueue.services.editing import edit
from tests import characters
from tests.api.calling import Api, problem

MEMBERS = {
    "checkpoint_id", "session_id", "handoff_sequence", "format", "source_id", "agent_id", "agent_role", "target_role",
    "task_id", "risk_level", "human_approval_required", "state", "verdict", "findings", "warnings", "revision",
    "revises", "content_digest", "body_digest", "approvals", "approval_ticket_reference", "sender_ticket_reference",
    "decisions", "attempts", "max_retries", "retries_left", "not_before", "review_deadline", "received_at", "links",
}  # fmt: skip


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def path_of(address: str) -> str:
    assert address.startswith(settings.PUBLIC_URL)
    return address.removeprefix(settings.PUBLIC_URL)


def test_a_cleared_handoff_has_exactly_the_published_members(api: Api) -> None:
    shown = api.submitted(
        handoff_target={"target_role": "billing", "handoff_reason": "", "expected_return": True}
    )
    assert set(shown) == MEMBERS
    assert shown["state"] == "cleared"
    assert set(shown["verdict"]) == {
        "outcome", "reasons", "checked_at", "policy_version", "document_tokens", "context_tokens",
    }  # fmt: skip
    assert shown["verdict"]["outcome"] == "cleared"
    assert shown["verdict"]["document_tokens"] > shown["verdict"]["context_tokens"] > 0
    assert shown["warnings"] == shown["findings"] != []
    assert set(shown["findings"][0]) == {
        "code", "name", "severity", "disposition", "pointer", "message", "expected", "actual", "origin",
    }  # fmt: skip
    assert (shown["revision"], shown["revises"], shown["review_deadline"]) == (1, None, None)
    for moment in (shown["received_at"], shown["verdict"]["checked_at"]):
        assert moment.endswith("Z")
    assert set(shown["links"]) == {"self", "review", "body", "session"}
    for name in ("self", "body", "session"):
        assert api.get(path_of(shown["links"][name])).status_code == 200


def test_findings_stand_by_severity_code_and_pointer(api: Api) -> None:
    shown = api.submitted(
        characters.document(task_status="completed", handoff_reason=7, timestamp="yesterday")
        | {"zebra": 1, "ant": 2}
    )
    rank = {"high": 0, "medium": 1, "low": 2}
    order = [(rank[item["severity"]], item["code"], item["pointer"]) for item in shown["findings"]]
    assert len(order) > 3
    assert order == sorted(order)
    assert shown["warnings"] == [item for item in shown["findings"] if item["disposition"] == "warn"]


def test_a_flagged_handoff_says_how_many_people_it_waits_for(api: Api) -> None:
    shown = api.submitted(human_approval_required=True, risk_level="high")
    assert (shown["state"], shown["approvals"]) == ("flagged", {"required": 2, "given": 0})
    assert set(shown["verdict"]["reasons"]) == {"risk", "sender"}
    assert shown["review_deadline"] > shown["received_at"]
    assert shown["risk_level"] == "high"


def test_an_approval_shows_who_decided_and_the_ticket(api: Api) -> None:
    handoff = characters.approved(api.owner)
    shown = api.handoff(handoff.checkpoint_id)
    (decision,) = shown["decisions"]
    assert set(decision) == {
        "action", "by", "role", "reason", "at", "revision", "content_digest", "answers", "reconciliations", "advice",
        "question", "external_ticket",
    }  # fmt: skip
    assert (decision["action"], decision["role"]) == ("approve", "operator")
    assert decision["by"]["id"].startswith("u_")
    assert decision["content_digest"] == shown["content_digest"]
    assert shown["approval_ticket_reference"] == handoff.approval_ticket_reference
    assert shown["approvals"] == {"required": 1, "given": 1}


def test_an_edit_shows_as_a_revision_and_both_bodies_stay(api: Api) -> None:
    handoff = characters.flagged(api.owner)
    original = api.get(f"/api/v1/handoffs/{handoff.checkpoint_id}/body").content
    _edit(handoff)
    shown = api.handoff(handoff.checkpoint_id)
    assert (shown["revision"], shown["revises"], shown["state"]) == (2, 1, "flagged")
    assert shown["decisions"][0]["action"] == "edit"
    path = f"/api/v1/handoffs/{handoff.checkpoint_id}/body"
    assert api.get(f"{path}?revision=1").content == original
    assert api.get(path).content == api.get(f"{path}?revision=2").content != original
    assert shown["body_digest"] == handoff.body_digest
    assert shown["content_digest"] != handoff.content_digest
    problem(api.get(f"{path}?revision=3"), 404, "not-found")
    problem(api.get(f"{path}?revision=0"), 400, "invalid-parameter")


def _edit(handoff: Handoff) -> None:
    document = json.loads(current_body(handoff=handoff))
    document["handoff_target"]["handoff_reason"] = "Billing prices repairs and refunds"
    edit(
        handoff_id=handoff.pk,
        reviewer=characters.person(),
        document=json.dumps(document),
        reason="Name the refund too",
        content_digest=handoff.content_digest,
        version=handoff.version,
    )


def test_bytes_are_saved_and_never_shown(api: Api) -> None:
    shown = api.submitted()
    response = api.get(path_of(shown["links"]["body"]), Accept="text/html")
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Content-Disposition"].startswith("attachment")
    assert "sandbox" in response.headers["Content-Security-Policy"]


def test_the_tag_is_strong_the_same_for_all_and_changes_with_the_handoff(api: Api) -> None:
    handoff = characters.flagged(api.owner)
    path = f"/api/v1/handoffs/{handoff.checkpoint_id}"
    first = api.get(path)
    tag = first.headers["ETag"]
    assert tag.startswith('"')
    assert Api(api.owner, "handoffs:read").get(path).headers["ETag"] == tag
    for given in (tag, f"W/{tag}", f'"x", {tag}', "*"):
        unchanged = api.get(path, If_None_Match=given)
        assert (unchanged.status_code, unchanged.content, unchanged.headers["ETag"]) == (304, b"", tag)
    assert api.get(path, If_None_Match='"x"').status_code == 200
    decide(handoff_id=handoff.pk, reviewer=characters.person(), form=characters.form(handoff))
    changed = api.get(path, If_None_Match=tag)
    assert (changed.status_code, changed.headers["ETag"] == tag) == (200, False)


def test_reading_changes_nothing(api: Api) -> None:
    shown = api.submitted()
    before = Handoff.objects.get(orchestrator=api.owner).version
    for _ in range(3):
        api.handoff(shown["checkpoint_id"])
        api.client.head(path_of(shown["links"]["self"]))
    assert Handoff.objects.get(orchestrator=api.owner).version == before


def names(api: Api, query: str = "") -> list[str]:
    response = api.get(f"/api/v1/handoffs{query}")
    assert response.status_code == 200, response.content
    return [item["checkpoint_id"] for item in response.json()["results"]]


def walk(api: Api, query: str, step: str = "next") -> list[list[str]]:
    """The ids of each page, following one link to the end."""
    pages, path = [], f"/api/v1/handoffs{query}"
    while path:
        body = api.get(path).json()
        pages.append([item["checkpoint_id"] for item in body["results"]])
        path = path_of(body[step]) if body[step] else ""
    return pages


def test_filters_narrow_the_list(api: Api) -> None:
    session = characters.fresh("session")
    cleared = api.submitted(session_id=session, agent_role="triage", task_id="T-1")["checkpoint_id"]
    flagged = api.submitted(task_status="completed", agent_role="legal", task_id="T-2")["checkpoint_id"]
    waiting = api.submitted(human_approval_required=True, risk_level="high")["checkpoint_id"]
    everything = [waiting, flagged, cleared]
    assert names(api) == everything
    assert names(api, "?state=cleared") == [cleared]
    assert names(api, "?state=cleared&state=flagged") == everything
    assert names(api, "?finding=HC-18") == [flagged]
    assert names(api, "?severity=high") == [flagged]
    assert names(api, "?agent_role=legal") == [flagged]
    assert names(api, "?target_role=billing&target_role=legal") == everything
    assert names(api, f"?session_id={session}") == [cleared]
    assert names(api, "?task_id=T-2") == [flagged]
    assert names(api, f"?q={waiting}") == [waiting]
    assert names(api, "?q=prices") == everything
    assert names(api, "?session_id=none") == []
    assert names(api, "?ordering=received_at") == everything[::-1]


@pytest.mark.parametrize("text", ["'; DROP TABLE handoff; --", "100%", "_", "\\", "%25%25", "'"])
def test_a_search_text_is_only_text(api: Api, text: str) -> None:
    api.submit(characters.document())
    assert (
        api.get(
            "/api/v1/handoffs",
        ).status_code
        == 200
    )
    response = api.client.get("/api/v1/handoffs", {"q": text})
    assert (response.status_code, response.json()["results"]) == (200, [])


@pytest.mark.parametrize("ordering", ["received_at", "-received_at", "handoff_sequence", "-handoff_sequence",
                                      "review_deadline", "-review_deadline"])  # fmt: skip
def test_pages_hold_each_row_once_forwards_and_backwards(api: Api, ordering: str) -> None:
    for number in range(7):
        api.submit(
            characters.document(human_approval_required=number % 2 == 0, handoff_sequence=number // 2 + 1)
        )
    drain()
    whole = names(api, f"?ordering={ordering}")
    assert len(whole) == 7
    pages = walk(api, f"?ordering={ordering}&page_size=3")
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [name for page in pages for name in page] == whole
    last = api.get(f"/api/v1/handoffs?ordering={ordering}&page_size=3").json()
    while last["next"]:
        last = api.get(path_of(last["next"])).json()
    back: list[str] = []
    while last["previous"]:
        last = api.get(path_of(last["previous"])).json()
        back = [item["checkpoint_id"] for item in last["results"]] + back
    assert back == whole[:6]


def test_new_rows_do_not_shift_a_page(api: Api) -> None:
    for _ in range(4):
        api.submit(characters.document())
    first = api.get("/api/v1/handoffs?page_size=2").json()
    whole = names(api)
    api.submit(characters.document())
    second = api.get(path_of(first["next"])).json()
    assert [item["checkpoint_id"] for item in second["results"]] == whole[2:]


@pytest.mark.parametrize(
    "query",
    [
        "?page=2", "?limit=5", "?page_size=0", "?page_size=-1", "?page_size=201", "?page_size=1e2", "?page_size=",
        "?page_size=100000000000000000000", "?page_size=٣", "?ordering=id", "?ordering=", "?state=open", "?state=",
        "?severity=critical", "?cursor=", "?cursor=x", "?cursor=x:y", "?q=%00", "?task_id=a%00b",
        "?session_id=a&session_id=b",
        "?q=" + "x" * 501, "?" + "&".join(f"a{number}=1" for number in range(1200)),
    ],
)  # fmt: skip
def test_parameters_that_mean_nothing_are_refused(api: Api, query: str) -> None:
    problem(api.get(f"/api/v1/handoffs{query}"), 400, "invalid-parameter")


def test_a_cursor_is_of_one_order_and_cannot_be_made_up(api: Api) -> None:
    for _ in range(3):
        api.submit(characters.document())
    address = path_of(api.get("/api/v1/handoffs?page_size=1").json()["next"])
    assert api.get(address).status_code == 200
    problem(api.get(f"{address}&ordering=handoff_sequence"), 400, "invalid-parameter")
    for index in (-1, -30):
        spoiled = address[:index] + ("A" if address[index] != "A" else "B") + address[index:][1:]
        problem(api.get(spoiled), 400, "invalid-parameter")


def test_a_page_costs_the_same_queries_for_many_as_for_few(
    api: Api, django_assert_max_num_queries: Any
) -> None:
    for _ in range(6):
        api.submitted(human_approval_required=True)
    with django_assert_max_num_queries(7):
        assert len(names(api)) == 6
