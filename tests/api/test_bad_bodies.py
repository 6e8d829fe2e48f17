"""Bytes that cannot be stored: the exact answer, nothing stored, the bytes kept, and the next good post works."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from checkpoints.models import Refusal
from tests import characters
from tests.api.calling import Api, problem


def with_member(name: str, value: Any) -> bytes:
    return json.dumps(characters.document() | {name: value}).encode()


def with_text(text: str) -> bytes:
    """A good document with raw JSON text in a free member."""
    return json.dumps(characters.document()).encode().replace(b'"Billing prices repairs"', text.encode())


def nested(depth: int) -> bytes:
    return b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


BODIES: dict[str, tuple[bytes, int, str, str]] = {
    "empty": (b"", 400, "malformed-json", "RAW-8"),
    "blank": (b" \n\t ", 400, "malformed-json", "RAW-8"),
    "trailing comma": (b'{"a":1,}', 400, "malformed-json", "RAW-8"),
    "trailing bytes": (b'{"a":1} x', 400, "malformed-json", "RAW-8"),
    "comment": (b'{"a":1 /* x */}', 400, "malformed-json", "RAW-8"),
    "single quotes": (b"{'a':1}", 400, "malformed-json", "RAW-8"),
    "leading zero": (b'{"a":01}', 400, "malformed-json", "RAW-8"),
    "truncated": (json.dumps({"a": 1}).encode()[:-1], 400, "malformed-json", "RAW-8"),
    "fence": (b'```json\n{"a":1}\n```', 400, "malformed-json", "RAW-8"),
    "byte order mark": (b'\xef\xbb\xbf{"a":1}', 400, "malformed-json", "RAW-1"),
    "not utf-8": (b'{"a":"\xff"}', 400, "invalid-utf8", "RAW-1"),
    "overlong": (b'{"a":"\xc0\xaf"}', 400, "invalid-utf8", "RAW-1"),
    "surrogate bytes": (b'{"a":"\xed\xa0\x80"}', 400, "invalid-utf8", "RAW-1"),
    "raw NUL": (b'{"a":"\x00"}', 400, "malformed-json", "RAW-8"),
    "NaN": (b'{"a":NaN}', 400, "malformed-json", "RAW-3"),
    "Infinity": (b'{"a":-Infinity}', 400, "malformed-json", "RAW-3"),
    "escaped NUL": (b'{"a":"\\u0000"}', 422, "forbidden-character", "RAW-7"),
    "NUL in a name": (b'{"\\u0000":1}', 422, "forbidden-character", "RAW-7"),
    "lone high surrogate": (b'{"a":"\\ud800"}', 422, "forbidden-character", "RAW-4"),
    "lone low surrogate": (b'{"a":"\\udc00"}', 422, "forbidden-character", "RAW-4"),
    "reversed pair": (b'{"a":"\\udc00\\ud800"}', 422, "forbidden-character", "RAW-4"),
    "65 levels": (nested(65), 422, "json-limits", "RAW-6"),
    "100 000 levels": (nested(100_000), 422, "json-limits", "RAW-6"),
    "100 001 values": (b'{"a":[' + b",".join([b"1"] * 99_999) + b"]}", 422, "json-limits", "RAW-6"),
    "name twice": (b'{"checkpoint_id":"a","checkpoint_id":"b"}', 422, "duplicate-key", "RAW-2"),
    "name twice, escaped": (b'{"x":{"a":1,"\\u0061":2}}', 422, "duplicate-key", "RAW-2"),
    "1e400": (b'{"a":1e400}', 422, "number-out-of-range", "RAW-3"),
    "-1e400": (b'{"a":-1e400}', 422, "number-out-of-range", "RAW-3"),
    "2^53": (b'{"a":9007199254740992}', 422, "number-out-of-range", "RAW-5"),
    "2^64": (b'{"a":18446744073709551616}', 422, "number-out-of-range", "RAW-5"),
    "5 000 digits": (b'{"a":' + b"9" * 5000 + b"}", 422, "number-out-of-range", "RAW-5"),
    "array": (b"[]", 422, "not-an-object", "RAW-8"),
    "string": (b'"x"', 422, "not-an-object", "RAW-8"),
    "number": (b"1", 422, "not-an-object", "RAW-8"),
    "null": (b"null", 422, "not-an-object", "RAW-8"),
    "true": (b"true", 422, "not-an-object", "RAW-8"),
}

NAMES: dict[str, tuple[str, Any, str]] = {
    "missing session": ("session_id", ..., "HC-01"),
    "null session": ("session_id", None, "HC-01"),
    "empty session": ("session_id", "", "HC-02"),
    "blank session": ("session_id", "  ", "HC-02"),
    "number as session": ("session_id", 7, "HC-03"),
    "empty id": ("checkpoint_id", "", "HC-02"),
    "long id": ("checkpoint_id", "a" * 10_240, "HC-02"),
    "201 characters": ("checkpoint_id", "a" * 201, "HC-02"),
    "path": ("checkpoint_id", "../../etc/passwd", "HC-02"),
    "slash": ("checkpoint_id", "a/b", "HC-02"),
    "percent": ("checkpoint_id", "a%00", "HC-02"),
    "emoji": ("checkpoint_id", "ckpt-😀", "HC-02"),
    "right-to-left": ("checkpoint_id", "ckpt\u202e1", "HC-02"),
    "zero width": ("session_id", "s\u200b1", "HC-02"),
    "cyrillic": ("session_id", "s\u0430", "HC-02"),
    "list as id": ("checkpoint_id", ["a"], "HC-03"),
    "sequence 0": ("handoff_sequence", 0, "HC-02"),
    "sequence -1": ("handoff_sequence", -1, "HC-02"),
    "sequence 1.0": ("handoff_sequence", 1.0, "HC-03"),
    "sequence as text": ("handoff_sequence", "1", "HC-03"),
    "sequence true": ("handoff_sequence", True, "HC-03"),
    "sequence null": ("handoff_sequence", None, "HC-03"),
}


@pytest.fixture(scope="module")
def shared(django_db_setup: None, django_db_blocker: Any) -> Api:
    with django_db_blocker.unblock():
        return Api()


def refused(api: Api, body: bytes, status: int, slug: str) -> dict[str, Any]:
    """Post, and prove that nothing was stored, that the bytes are kept, and that a good post still works."""
    before, kept = api.count(), Refusal.objects.filter(orchestrator=api.owner).count()
    found = problem(api.submit(body), status, slug)
    assert api.count() == before
    newest = Refusal.objects.filter(orchestrator=api.owner).order_by("-at", "-pk")
    assert newest.count() == kept + 1
    assert bytes(newest[0].body.content) == body
    assert (newest[0].status, newest[0].type) == (status, f"/problems/{slug}")
    assert api.submit(characters.document()).status_code == 201
    return found


@pytest.mark.parametrize("name", BODIES)
def test_bytes_that_readers_could_read_differently_are_refused_and_kept(
    db: None, shared: Api, name: str
) -> None:
    body, status, slug, code = BODIES[name]
    found = refused(shared, body, status, slug)
    assert [error["code"] for error in found["errors"]] == [code]


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_named_is_refused_with_its_pointer_and_kept(db: None, shared: Api, name: str) -> None:
    member, value, code = NAMES[name]
    document = characters.document()
    document.pop(member)
    if value is not ...:
        document[member] = value
    found = refused(shared, json.dumps(document).encode(), 422, "identity-invalid")
    assert [(error["pointer"], error["code"]) for error in found["errors"]] == [(f"/{member}", code)]


def test_an_unknown_format_is_refused_with_the_known_ones(db: None, shared: Api) -> None:
    found = refused(shared, with_member("format", "handoff/2"), 422, "unknown-format")
    assert "handoff/1" in found["detail"]


def test_envelope_and_payload_that_name_different_things_are_refused(db: None, shared: Api) -> None:
    document = characters.document()
    envelope = {"session_id": "another", "payload": document}
    found = refused(shared, json.dumps(envelope).encode(), 422, "identity-mismatch")
    assert found["errors"][0]["pointer"] == "/payload/session_id"


def test_an_answer_repeats_at_most_64_characters_of_what_it_refused(db: None, shared: Api) -> None:
    for body in (with_member("checkpoint_id", "%" * 500), with_member("format", "x" * 500)):
        text = shared.submit(body).content.decode()
        assert "%" * 65 not in text
        assert "x" * 65 not in text


@pytest.mark.parametrize(
    "text", ["a" * 65_536 + "!", " " * 65_536 + "x", "(" * 65_536, '\\"' * 30_000, "0" * 65_536 + "."]
)
def test_hostile_repetition_costs_nothing(db: None, shared: Api, text: str) -> None:
    for member in ("task_id", "agent_role", "timestamp", "consistency_hash", "session_id"):
        body = with_member(member, text)
        started = time.perf_counter()
        status = shared.submit(body).status_code
        assert status in (201, 422)
        assert time.perf_counter() - started < 1.0  # quadratic work on 64 KiB takes minutes


@pytest.mark.parametrize("name", ["__proto__", "constructor", "$ref", "hasOwnProperty"])
def test_names_with_a_meaning_elsewhere_are_data_here(db: None, shared: Api, name: str) -> None:
    document = characters.document()
    document["context_snapshot"][name] = {"$ref": "file:///etc/passwd"}
    response = shared.submit(characters.seal(document | {"context_fingerprint": ...}))
    assert response.status_code == 201


@pytest.mark.parametrize("member", ["status", "verdict", "approved_by", "state", "approvals"])
def test_a_member_that_claims_a_decision_has_no_effect(db: None, shared: Api, member: str) -> None:
    found = shared.submitted(characters.document() | {member: "approved"})
    assert found["state"] == "cleared"
    assert [finding["code"] for finding in found["findings"]] == ["HC-06"]
    assert found["approvals"] == {"required": 0, "given": 0}
