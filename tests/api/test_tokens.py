"""Tokens: one shape, one refusal for every reason, and no use beyond scope and orchestrator."""

from __future__ import annotations

import io
import json
import re
import zlib
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from checkpoints.errors import InvalidInput
from checkpoints.identifiers import uuid7
from checkpoints.models import ApiToken, AuditEntry, Scope
from checkpoints.services import tokens
from tests import characters
from tests.api.calling import CLI, Api, problem

SHAPE = re.compile(r"rq_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}")


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def row(api: Api) -> ApiToken:
    return ApiToken.objects.get(orchestrator=api.owner)


def base62(text: str) -> int:
    number = 0
    for digit in text:
        number = number * 62 + tokens.BASE62.index(digit)
    return number


def test_a_token_has_the_published_shape_and_is_stored_as_a_digest(api: Api) -> None:
    assert SHAPE.fullmatch(api.token)
    assert base62(api.token[-6:]) == zlib.crc32(api.token[:-6].encode())
    stored = row(api)
    assert stored.prefix == api.token[3:11]
    assert api.token[12:].encode() not in bytes(stored.digest)
    assert stored.scopes == Scope.values
    entry = AuditEntry.objects.get(subject_kind="orchestrator", subject_id=api.owner.name)
    assert (entry.action, entry.actor_id) == ("token.created", CLI.id)
    assert api.token not in json.dumps(entry.text.after)


def spoiled(token: str) -> dict[str, str]:
    """Tokens that are wrong in one way each."""
    flipped = token[:-7] + ("A" if token[-7] != "A" else "B") + token[-6:]
    other = token[:3] + ("A" if token[3] != "A" else "B") + token[4:]
    return {
        "flipped digit": flipped,
        "other prefix": other,
        "right checksum, wrong secret": _resealed(flipped[:-6]),
        "right checksum, unknown prefix": _resealed(other[:-6]),
        "too short": token[:-1],
        "too long": token + "A",
        "other name": "xx" + token[2:],
        "not ascii": token[:-1] + "é",
        "nothing": "",
    }


def _resealed(start: str) -> str:
    return start + tokens._checksum(start)


def test_every_wrong_token_gets_the_same_answer(api: Api) -> None:
    bodies = set()
    wrong = {name: {"Authorization": f"Bearer {text}"} for name, text in spoiled(api.token).items()}
    wrong |= {
        "no header": {},
        "basic": {"Authorization": f"Basic {api.token}"},
        "no scheme": {"Authorization": api.token},
        "two headers": {"Authorization": f"Bearer {api.token},Bearer {api.token}"},
        "two tokens": {"Authorization": f"Bearer {api.token} {api.token}"},
    }
    for headers in wrong.values():
        response = Client().get("/api/v1/handoffs", headers=headers)
        found = problem(response, 401, "unauthenticated")
        assert response.headers["WWW-Authenticate"].startswith("Bearer")
        bodies.add((found["detail"], found["title"]))
    assert len(bodies) == 1
    assert api.get("/api/v1/handoffs").status_code == 200


def test_an_expired_and_a_revoked_token_are_refused_like_an_unknown_one(api: Api) -> None:
    expired, revoked = Api(api.owner), Api(api.owner)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE api_token SET expires_at = clock_timestamp() WHERE prefix = %s", [expired.token[3:11]]
        )
    found = ApiToken.objects.get(prefix=revoked.token[3:11])
    for _ in range(2):
        tokens.revoke(token_id=found.pk, actor=CLI)
    details = {
        problem(client.get("/api/v1/handoffs"), 401, "unauthenticated")["detail"]
        for client in (expired, revoked)
    }
    assert len(details) == 1
    entries = AuditEntry.objects.filter(subject_id=api.owner.name, action="token.revoked")
    assert entries.count() == 1


def test_the_last_use_is_noted_once_a_minute(api: Api) -> None:
    assert row(api).last_used_at is None
    api.get("/api/v1/handoffs")
    first = row(api).last_used_at
    assert first is not None
    api.get("/api/v1/handoffs")
    assert row(api).last_used_at == first
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE api_token SET last_used_at = clock_timestamp() - interval '61 s' WHERE id = %s",
            [row(api).pk],
        )
    api.get("/api/v1/handoffs")
    assert row(api).last_used_at > first


def test_a_signed_in_person_is_nobody_for_the_api(api: Api) -> None:
    client = Client()
    client.force_login(characters.person())
    problem(client.get("/api/v1/handoffs"), 401, "unauthenticated")


# Address, method, the scope it needs (None: any valid token).
ROUTES = [
    ("POST", "/api/v1/checkpoints", "checkpoints:write"),
    ("POST", "/api/v1/checkpoints/batch", "checkpoints:write"),
    ("POST", "/api/v1/digests", "checkpoints:write"),
    ("GET", "/api/v1/handoffs", "handoffs:read"),
    ("GET", "/api/v1/handoffs/{id}", "handoffs:read"),
    ("GET", "/api/v1/handoffs/{id}/body", "handoffs:read"),
    ("GET", "/api/v1/sessions/{session}", "handoffs:read"),
    ("GET", "/api/v1/sessions/{session}/recovery", "handoffs:read"),
    ("GET", "/api/v1/refusals", "handoffs:read"),
    ("GET", "/api/v1/refusals/00000000-0000-7000-8000-000000000000/body", "handoffs:read"),
    ("POST", "/api/v1/tickets/verify", "handoffs:read"),
    ("GET", "/api/v1/tickets/APR-2026-000001", "handoffs:read"),
    ("POST", "/api/v1/handoffs/{id}/dispatch", "handoffs:dispatch"),
    ("POST", "/api/v1/handoffs/{id}/ack", "handoffs:dispatch"),
    ("POST", "/api/v1/handoffs/{id}/fail", "handoffs:dispatch"),
    ("POST", "/api/v1/handoffs/{id}/refuse", "handoffs:dispatch"),
    ("POST", "/api/v1/handoffs/{id}/cancel", "handoffs:dispatch"),
    ("GET", "/api/v1/audit", "audit:read"),
    ("GET", "/api/v1/audit/heads", "audit:read"),
    ("GET", "/api/v1/audit/00000000-0000-7000-8000-000000000000/proof", "audit:read"),
    ("GET", "/api/v1/policy", "policy:read"),
    ("GET", "/api/v1/prompt", None),
]
PUBLIC = [
    "/api/v1/checks",
    "/api/v1/schemas",
    "/api/v1/schemas/handoff/1",
    "/api/v1/schema",
    "/api/docs",
    "/.well-known/jwks.json",
    "/healthz",
    "/problems/not-found",
]


def test_each_address_takes_its_scope_and_no_other(api: Api) -> None:
    shown = api.submitted()
    names = {"id": shown["checkpoint_id"], "session": shown["session_id"]}
    with_one = {scope: Api(api.owner, scope) for scope in Scope.values}
    for method, pattern, needed in ROUTES:
        path = pattern.format(**names)
        for scope, caller in with_one.items():
            response = caller.get(path) if method == "GET" else caller.post(path, b"[")
            if needed in (None, scope):
                assert response.status_code not in (401, 403), (method, path, scope, response.content)
            else:
                found = problem(response, 403, "insufficient-scope")
                assert str(needed) in found["detail"]
        problem(Client().generic(method, path), 401, "unauthenticated")
    assert api.handoff(shown["checkpoint_id"])["state"] == shown["state"]


def test_every_address_stands_in_the_table_of_scopes() -> None:
    from checkpoints.api.urls import urlpatterns

    def shape(path: str) -> str:
        return re.sub(r"<[^>]+>|\{[^}]+\}|00000000-[0-9-]+|APR-2026-000001", "*", path).strip("/")

    listed = {shape(path) for _, path, _ in ROUTES} | {shape(path) for path in PUBLIC}
    listed |= {"readyz", "metrics", "problems/*", "api/v1/schemas/*"}
    listed -= {"problems/not-found", "api/v1/schemas/handoff/1"}
    assert {shape(str(item.pattern)) for item in urlpatterns} == listed


@pytest.mark.parametrize("path", PUBLIC)
def test_public_addresses_need_no_token(db: None, path: str) -> None:
    assert Client().get(path).status_code == 200


def test_another_orchestrators_objects_do_not_exist(api: Api) -> None:
    handoff = characters.approved(api.owner)
    refused = api.submit(b"[")
    assert refused.status_code == 400
    refusal = api.get("/api/v1/refusals").json()["results"][0]["id"]
    stranger = Api()
    nobody = str(uuid7())
    for pattern, own in (
        ("/api/v1/handoffs/{}", handoff.checkpoint_id),
        ("/api/v1/handoffs/{}/body", handoff.checkpoint_id),
        ("/api/v1/sessions/{}", handoff.session.session_id),
        ("/api/v1/sessions/{}/recovery", handoff.session.session_id),
        ("/api/v1/refusals/{}/body", refusal),
        ("/api/v1/tickets/{}", handoff.approval_ticket_reference),
    ):
        assert api.get(pattern.format(own)).status_code == 200, pattern
        foreign = problem(stranger.get(pattern.format(own)), 404, "not-found")
        missing = problem(stranger.get(pattern.format(nobody)), 404, "not-found")
        assert foreign["detail"] == missing["detail"]
    for verb, body in (
        ("dispatch", None),
        ("ack", {"attempt": 1}),
        ("fail", {"attempt": 1, "kind": "error", "detail": ""}),
        ("refuse", {"attempt": 1, "reason": "no"}),
        ("cancel", {"reason": "no"}),
    ):
        problem(stranger.verb(handoff.checkpoint_id, verb, body), 404, "not-found")
    for path in ("/api/v1/handoffs", "/api/v1/refusals"):
        assert stranger.get(path).json()["results"] == []
    assert characters.reload(handoff).version == handoff.version


def command(*arguments: str) -> Any:
    out = io.StringIO()
    call_command("create_token", *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_the_command_makes_the_orchestrator_and_a_token_of_all_scopes(db: None) -> None:
    name = characters.fresh("orchestrator")
    made = command("--orchestrator", name)
    assert set(made) == {"token", "orchestrator", "scopes"}
    assert (made["orchestrator"], made["scopes"]) == (name, Scope.values)
    caller = tokens.authenticate(text=made["token"])
    assert caller.orchestrator.name == name
    again = command("--orchestrator", name, "--scope", "handoffs:read", "--days", "1")
    assert again["scopes"] == ["handoffs:read"]
    assert tokens.authenticate(text=again["token"]).orchestrator.pk == caller.orchestrator.pk


@pytest.mark.parametrize(
    "wrong",
    [
        {"scopes": ["handoffs:write"]},
        {"days": 0},
        {"days": 4000},
        {"orchestrator_name": ""},
        {"orchestrator_name": "a\x00b"},
        {"orchestrator_name": "x" * 201},
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(db: None, wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"orchestrator_name": characters.fresh("orchestrator"), "actor": CLI} | wrong
    with pytest.raises(InvalidInput):
        tokens.create_token(**given)
