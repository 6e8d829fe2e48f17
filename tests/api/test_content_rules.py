"""What a request must look like before anybody reads its body."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings

from checkpoints.models import Refusal
from tests import characters
from tests.api.calling import Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def kept_nothing(api: Api) -> bool:
    return api.count() == 0 and not Refusal.objects.filter(orchestrator=api.owner).exists()


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx",
     "application/problem+json", "application/json, application/json"],
)  # fmt: skip
def test_only_json_is_taken(api: Api, content_type: str) -> None:
    body = json.dumps(characters.document()).encode()
    problem(api.post("/api/v1/checkpoints", body, content_type=content_type), 415, "unsupported-media-type")
    assert kept_nothing(api)


@pytest.mark.parametrize("charset", ["utf-16", "utf-7", "rot13", "idna", "latin-1", '"utf-32"'])
def test_only_utf8_is_taken(api: Api, charset: str) -> None:
    response = api.post(
        "/api/v1/checkpoints", characters.document(), content_type=f"application/json; charset={charset}"
    )
    problem(response, 415, "unsupported-charset")
    assert kept_nothing(api)


@pytest.mark.parametrize(
    "content_type", ["application/json; charset=utf-8", 'Application/JSON;charset="UTF8"']
)
def test_utf8_may_be_named(api: Api, content_type: str) -> None:
    response = api.post("/api/v1/checkpoints", characters.document(), content_type=content_type)
    assert response.status_code == 201


@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, gzip", "deflate"])
def test_compressed_bodies_are_not_unpacked(api: Api, encoding: str) -> None:
    problem(api.submit(characters.document(), Content_Encoding=encoding), 415, "unsupported-encoding")
    assert kept_nothing(api)


def test_a_body_of_the_limit_is_read_and_one_byte_more_is_not(api: Api) -> None:
    body = json.dumps(characters.document()).encode()
    exact = body + b" " * (settings.BODY_BYTES - len(body))
    assert api.submit(exact).status_code == 201
    found = problem(api.submit(exact + b" "), 413, "payload-too-large")
    assert [error["code"] for error in found["errors"]] == ["RAW-6"]
    assert not Refusal.objects.filter(orchestrator=api.owner).exists()


@pytest.mark.parametrize(
    "accept", ["text/evil", "text/html", "application/xml;q=1, text/*", "application/json;q=0"]
)
def test_nothing_but_json_is_produced(api: Api, accept: str) -> None:
    problem(api.submit(characters.document(), Accept=accept), 406, "not-acceptable")
    assert kept_nothing(api)


@pytest.mark.parametrize("accept", ["*/*", "application/*", "text/html, */*;q=0.1", "application/json;q=0.5"])
def test_whoever_takes_json_too_gets_it(api: Api, accept: str) -> None:
    assert api.submit(characters.document(), Accept=accept).status_code == 201


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "GET", "PROPFIND"])
def test_other_methods_name_the_one_that_works(api: Api, method: str) -> None:
    response = api.client.generic(method, "/api/v1/checkpoints")
    problem(response, 405, "method-not-allowed")
    assert response.headers["Allow"] == "POST"


def test_a_wrong_method_is_told_before_a_missing_token(api: Api) -> None:
    problem(
        api.client.generic("PUT", "/api/v1/handoffs", headers={"Authorization": ""}),
        405,
        "method-not-allowed",
    )


@pytest.mark.parametrize("query", ["?format=xml", "?format=api&_method=DELETE"])
def test_overrides_of_format_and_method_have_no_effect(api: Api, query: str) -> None:
    response = api.post(f"/api/v1/checkpoints{query}", characters.document(), X_HTTP_Method_Override="DELETE")
    assert (response.status_code, response.headers["Content-Type"]) == (201, "application/json")


@pytest.mark.parametrize("key", [None, "", "x" * 300, "\x01"])
def test_an_idempotency_key_on_a_post_of_a_checkpoint_means_nothing(api: Api, key: str | None) -> None:
    headers = {} if key is None else {"Idempotency-Key": key}
    response = api.client.post(
        "/api/v1/checkpoints", characters.document(), content_type="application/json", headers=headers
    )
    assert response.status_code == 201


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/handoffs/",
        "/api/v1/handoffs/a/b/c",
        "/api/v2/handoffs",
        "/api/v1/handoffs/%00",
        "/api/v1/handoffs/%ff%fe",
        "/api/v1/sessions/..%2f..",
        "/api/v1/tickets/%00",
        "/api/v1/refusals/not-a-uuid/body",
        "/problems/nothing",
    ],
)
def test_no_address_is_answered_with_html_or_a_redirect(api: Api, path: str) -> None:
    problem(api.get(path), 404, "not-found")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1,evil", "a b", ""])
def test_a_foreign_host_is_refused(api: Api, host: str) -> None:
    problem(api.client.get("/api/v1/checks", headers={"Host": host}), 400, "invalid-parameter")


def test_oversized_headers_are_refused(api: Api) -> None:
    problem(api.get("/api/v1/checks", X_Large="a" * 65_536), 431, "headers-too-large")


def test_every_answer_carries_the_security_headers(api: Api) -> None:
    answers: list[Any] = [
        api.submit(characters.document()),
        api.get("/api/v1/nothing"),
        api.client.get("/", PATH_INFO="//api/v1/checks"),  # a base address that ended in a slash
        api.get("/api/v1/handoffs?x=1"),
        api.get("/healthz"),
        api.client.get("/api/v1/checks", headers={"Host": "evil"}),
    ]
    for response in answers:
        headers = response.headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; frame-ancestors 'none'")
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["X-Frame-Options"] == "DENY"
        assert "Set-Cookie" not in headers


@pytest.mark.parametrize(
    ("given", "echoed"),
    [
        ("job-7.a:b", True),
        ("", False),
        ("a" * 65, False),
        ("a b", False),
        ("x\x07", False),
        ("<script>", False),
    ],
)
def test_a_usable_request_id_is_echoed_and_any_other_replaced(api: Api, given: str, echoed: bool) -> None:
    response = api.get("/api/v1/checks", X_Request_ID=given)
    assert (response.headers["X-Request-ID"] == given) is echoed
    assert len(response.headers["X-Request-ID"]) >= 1
