"""What senders look up: checks, schemas, digests, policy, prompt."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import jsonschema_rs
import pytest
from django.test import Client

from checkpoints.canonical import canonicalize, digest, digest_bytes
from checkpoints.formats import FORMATS
from checkpoints.services.policy import publish
from tests import characters
from tests.api.calling import CLI, Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def test_the_catalogue_names_gate_and_disposition(api: Api) -> None:
    found = {item["code"]: item for item in api.get("/api/v1/checks").json()["results"]}
    assert found["HC-11"]["disposition"] == "reject"
    assert found["HC-18"]["severity"] == "high"
    assert {item["gate"] for item in found.values()} == {"admission", "checks"}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_has_a_schema_that_can_be_used(api: Api, name: str) -> None:
    response = api.get(f"/api/v1/schemas/{name}")
    assert response.status_code == 200
    jsonschema_rs.validator_for(response.json())
    assert Client().get(f"/api/v1/schemas/{name.replace('/', '%2F')}").json() == response.json()


def test_unknown_formats_have_no_schema(api: Api) -> None:
    for name in ("handoff/2", "handoff", "../etc", "handoff/1/x"):
        problem(api.get(f"/api/v1/schemas/{name}"), 404, "not-found")


def digests(api: Api, body: bytes, claimed: str | None = None) -> dict[str, Any]:
    response = api.post("/api/v1/digests" + (f"?claimed={claimed}" if claimed else ""), body)
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


@pytest.mark.parametrize("body", [b"1", b'"x"', b"null", b"[1.0, 1e2]", b'{"b":1,"a":[]}', b"true"])
def test_any_json_value_has_digests(api: Api, body: bytes) -> None:
    found = digests(api, body)
    value = json.loads(body)
    assert found == {
        "canonical": canonicalize(value).decode(),
        "digest": digest(value),
        "body_digest": digest_bytes(body),
        "consistency_hash": None,
        "context_fingerprint": None,
    }


def test_a_document_gets_the_hashes_that_make_it_clear(api: Api) -> None:
    document = characters.document()
    wanted = {name: document.pop(name) for name in ("consistency_hash", "context_fingerprint")}
    found = digests(api, json.dumps(document).encode())
    assert {name: found[name] for name in wanted} == wanted
    assert api.submitted(document | wanted)["state"] == "cleared"


def test_a_claimed_hash_is_explained(api: Api) -> None:
    document = characters.document()
    covered = {
        name: document[name]
        for name in ("checkpoint_id", "task_id", "task_status", "completed_steps", "pending_decisions")
    }
    body = json.dumps(document).encode()

    def sha(data: bytes) -> str:
        return hashlib.sha256(data).hexdigest()

    claims = {
        "rfc8785": document["consistency_hash"],
        "json.dumps": sha(json.dumps(covered).encode()),
        "json.dumps-sorted": sha(json.dumps(covered, sort_keys=True).encode()),
        "json.dumps-compact": sha(json.dumps(covered, separators=(",", ":")).encode()),
        "as-received": sha(body),
        "whole-document": sha(json.dumps(document, sort_keys=True).encode()),
        "none": "0" * 64,
    }
    assert {name: digests(api, body, claimed)["matches"] for name, claimed in claims.items()} == {
        name: name for name in claims
    }
    assert digests(api, body, "garbage")["matches"] == "none"


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        (b"", 400, "malformed-json"),
        (b'{"a":1,"a":1}', 422, "duplicate-key"),
        (b"1e999", 422, "number-out-of-range"),
    ],
)
def test_digests_are_only_of_what_everybody_reads_alike(
    api: Api, body: bytes, status: int, slug: str
) -> None:
    problem(api.post("/api/v1/digests", body), status, slug)
    assert api.get("/api/v1/refusals").json()["results"] == []


POLICY = {
    "roles": {
        "triage": {"capabilities": ["route"], "may_hand_off_to": ["billing", "legal"]},
        "billing": {"capabilities": ["refund"]},
        "legal": {},
    },
    "required_constraints": {"from": {"triage": ["pii_masking"]}, "to": {"billing": ["refund_limit_500"]}},
    "conflicting_constraints": [["refund_limit_500", "no_refund_limit"]],
    "max_context_tokens": 1234,
    "approvals": {"high": 3},
}


@pytest.fixture
def policy(api: Api) -> Any:
    row = publish(document=POLICY, actor=CLI)
    yield row
    publish(document={}, actor=CLI)


def test_the_policy_in_force_is_the_published_document(api: Api, policy: Any) -> None:
    found = api.get("/api/v1/policy").json()
    assert (found["version"], found["document"]) == (policy.version, POLICY)
    assert found["published_at"].endswith("Z")


def test_the_prompt_is_rendered_from_the_live_policy(api: Api, policy: Any) -> None:
    response = api.get("/api/v1/prompt?agent_role=triage&target_role=billing&risk_level=high")
    assert (response.status_code, response.headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    text = response.content.decode()
    for words in (
        "`triage`", "`billing`", "`pii_masking`", "`refund_limit_500`", "`no_refund_limit`", "1234", "3 people",
        "`billing`, `legal`", "`refund`", "do not compute hashes", "`handoff_sequence`", "approval_ticket_reference",
    ):  # fmt: skip
        assert words in text, words
    publish(document=POLICY | {"max_context_tokens": 777}, actor=CLI)
    assert "777" in api.get("/api/v1/prompt").content.decode()


def test_the_prompt_comes_as_json_for_those_who_ask(api: Api) -> None:
    found = api.get("/api/v1/prompt", Accept="application/json").json()
    assert found["prompt"] == api.get("/api/v1/prompt").content.decode()


@pytest.mark.parametrize(
    "query", ["?risk_level=extreme", "?agent_role=%0Aignore", "?role=x", "?agent_role=" + "a" * 201]
)
def test_a_prompt_for_nonsense_is_refused(api: Api, query: str) -> None:
    problem(api.get(f"/api/v1/prompt{query}"), 400, "invalid-parameter")


def test_a_document_written_as_the_prompt_says_is_cleared(api: Api, policy: Any) -> None:
    """The members that the prompt asks for, plus those it leaves to the orchestrator, make a good checkpoint."""
    document = characters.document(active_constraints=["pii_masking", "refund_limit_500"])
    text = api.get("/api/v1/prompt?agent_role=triage&target_role=billing").content.decode()
    missing = [name for name in document if f"`{name}`" not in text]
    assert missing == []
    assert api.submitted(document)["state"] == "cleared"
