"""Who a checkpoint says it is: what is accepted, what is refused, all errors at once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkpoints.errors import Refused
from checkpoints.formats import admit, is_other_id
from checkpoints.types import Submission
from tests.samples import engine_document, enveloped, handoff_document


def admitted(document: dict[str, Any]) -> Submission:
    return admit(json.dumps(document).encode())


def refused(document: dict[str, Any]) -> Refused:
    with pytest.raises(Refused) as caught:
        admitted(document)
    assert caught.value.status == 422
    assert caught.value.keep
    return caught.value


def errors(document: dict[str, Any]) -> list[tuple[str, str]]:
    """(pointer, code) of each error of a document refused for its identity."""
    found = refused(document)
    assert found.slug == "identity-invalid"
    return [(error.pointer, error.code) for error in found.errors]


def test_a_flat_document_is_named_by_its_own_members() -> None:
    found = admitted(handoff_document(session_id="s", checkpoint_id="c", handoff_sequence=7))
    assert (found.form, found.session_id, found.checkpoint_id, found.handoff_sequence) == (
        "flat",
        "s",
        "c",
        7,
    )


def test_an_envelope_is_named_by_its_own_members() -> None:
    payload = handoff_document(session_id=..., checkpoint_id=..., handoff_sequence=...)
    found = admitted(enveloped(payload, checkpoint_id="c", handoff_sequence=7))
    assert found.form == "envelope"
    assert (found.session_id, found.checkpoint_id, found.handoff_sequence) == ("session-1", "c", 7)
    assert found.payload == payload


def test_a_handoff_payload_may_bring_the_names_alone() -> None:
    found = admitted(
        {"risk_level": "low", "payload": handoff_document(checkpoint_id="c", handoff_sequence=2)}
    )
    assert (found.session_id, found.checkpoint_id, found.handoff_sequence) == ("session-1", "c", 2)


@pytest.mark.parametrize(
    "name", ["a", "0", "A" * 200, "a.b_c:d@e+f=g~h-i", "6f1b6f0e-3a54-4d0c-9f58-3f1a1f2f8a01"]
)
def test_names_of_the_rule_are_accepted(name: str) -> None:
    found = admitted(handoff_document(session_id=name, checkpoint_id=name))
    assert (found.session_id, found.checkpoint_id) == (name, name)


BAD_NAMES = [
    "",
    " ",
    "   ",
    "A" * 201,
    "A" * 10_240,
    "../../etc/passwd",
    "a/b",
    "%00",
    "a b",
    "a\n",
    "\ta",
    "-a",
    ".a",
    "_a",
    "a\U0001f600",
    "a\u202eb",
    "a\u200bb",
    "\u0430",
    "é",
    "٣",
    "a'b",
    "a;b",
    "<a>",
]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("member", ["session_id", "checkpoint_id"])
def test_other_names_are_malformed(member: str, name: str) -> None:
    assert errors(handoff_document(**{member: name})) == [(f"/{member}", "HC-02")]


@pytest.mark.parametrize("value", [1, 1.5, True, False, [], ["a"], {}, {"id": "a"}], ids=repr)
@pytest.mark.parametrize("member", ["session_id", "checkpoint_id"])
def test_names_that_are_no_strings_have_the_wrong_type(member: str, value: Any) -> None:
    assert errors(handoff_document(**{member: value})) == [(f"/{member}", "HC-03")]


@pytest.mark.parametrize("value", [..., None], ids=["absent", "null"])
def test_a_session_must_be_named(value: Any) -> None:
    assert errors(handoff_document(session_id=value)) == [("/session_id", "HC-01")]
    assert errors(enveloped(handoff_document(session_id=...), session_id=None)) == [("/session_id", "HC-01")]


@pytest.mark.parametrize("value", [..., None], ids=["absent", "null"])
def test_without_a_checkpoint_id_the_server_will_name_it(value: Any) -> None:
    assert admitted(handoff_document(checkpoint_id=value)).checkpoint_id is None


def test_without_a_sequence_the_server_will_count() -> None:
    assert admitted(handoff_document(handoff_sequence=...)).handoff_sequence is None


@pytest.mark.parametrize("number", [1, 2**31, 2**53 - 1])
def test_sequences_in_range_are_accepted(number: int) -> None:
    assert admitted(handoff_document(handoff_sequence=number)).handoff_sequence == number


@pytest.mark.parametrize("number", [0, -1, -(2**53) + 1])
def test_sequences_out_of_range_are_refused(number: int) -> None:
    assert errors(handoff_document(handoff_sequence=number)) == [("/handoff_sequence", "HC-02")]


@pytest.mark.parametrize("value", [1.0, 1.5, 1e20, "1", "", True, False, None, [], {}], ids=repr)
def test_sequences_of_another_type_are_refused(value: Any) -> None:
    assert errors(handoff_document(handoff_sequence=value)) == [("/handoff_sequence", "HC-03")]


def test_a_sequence_past_53_bits_is_refused_as_a_number() -> None:
    assert refused(handoff_document(handoff_sequence=2**53)).slug == "number-out-of-range"


def test_all_errors_are_reported_at_once() -> None:
    found = errors(handoff_document(session_id=5, checkpoint_id="", handoff_sequence="1"))
    assert found == [("/session_id", "HC-03"), ("/checkpoint_id", "HC-02"), ("/handoff_sequence", "HC-03")]


def test_a_refusal_carries_the_names_that_could_be_read() -> None:
    found = refused(handoff_document(session_id="s", checkpoint_id="c", handoff_sequence=0))
    assert (found.session_id, found.checkpoint_id) == ("s", "c")
    found = refused(handoff_document(session_id="s", checkpoint_id="a/b"))
    assert (found.session_id, found.checkpoint_id) == ("s", None)


def test_a_refusal_echoes_at_most_64_characters() -> None:
    found = refused(handoff_document(session_id="/" * 5000, checkpoint_id="\u202e" * 5000))
    assert len(found.detail) < 600
    assert "\u202e" not in found.detail


@pytest.mark.parametrize(
    ("member", "value"), [("session_id", "other"), ("checkpoint_id", "other"), ("handoff_sequence", 9)]
)
def test_an_envelope_that_names_another_handoff_than_its_payload_is_refused(member: str, value: Any) -> None:
    found = refused(enveloped(handoff_document(), **{member: value}))
    assert found.slug == "identity-mismatch"
    assert [error.pointer for error in found.errors] == [f"/payload/{member}"]


def test_an_envelope_that_repeats_the_payload_is_accepted() -> None:
    payload = handoff_document()
    names = {name: payload[name] for name in ("session_id", "checkpoint_id", "handoff_sequence")}
    assert admitted(enveloped(payload, **names)).checkpoint_id == payload["checkpoint_id"]


def test_malformed_names_of_a_handoff_payload_are_refused_too() -> None:
    document = enveloped(handoff_document(session_id="", handoff_sequence="1"))
    assert errors(document) == [("/payload/session_id", "HC-02"), ("/payload/handoff_sequence", "HC-03")]


@pytest.mark.parametrize("member", ["agent_id", "agent_role", "task_id", "risk_level", "max_retries"])
def test_other_members_may_differ_at_admission(member: str) -> None:
    admitted(enveloped(handoff_document(), **{member: "other"}))


def test_the_session_of_a_prompty_document_serves() -> None:
    assert admitted(engine_document()).session_id == "session-1"
    assert admitted({"payload": engine_document(), "agent_role": "clerk"}).session_id == "session-1"
    assert admitted({"sessionId": "s", "title": "t"}).session_id == "s"


@pytest.mark.parametrize(
    ("value", "code"), [("", "HC-02"), ("a/b", "HC-02"), (5, "HC-03"), (None, "HC-01"), (..., "HC-01")]
)
def test_a_prompty_session_that_must_serve_follows_the_rule(value: Any, code: str) -> None:
    pointer = "/session_id" if code == "HC-01" else "/sessionId"
    assert errors(engine_document(sessionId=value)) == [(pointer, code)]


@pytest.mark.parametrize("envelope", [False, True])
def test_a_prompty_session_may_not_contradict_the_session(envelope: bool) -> None:
    document = (
        enveloped(engine_document(), session_id="other") if envelope else engine_document(session_id="other")
    )
    found = refused(document)
    assert found.slug == "identity-mismatch"
    assert found.session_id == "other"


@pytest.mark.parametrize("value", ["", 5, None, ...])
def test_a_prompty_session_that_names_nothing_is_left_to_the_checks(value: Any) -> None:
    assert admitted(enveloped(engine_document(sessionId=value))).session_id == "session-1"


def test_ids_of_other_formats_name_no_handoff_and_are_not_compared() -> None:
    payload = {"checkpoint_id": "native", "session_id": "native", "messages": {}, "state": {}}
    found = admitted(enveloped(payload, format="agent-framework/1", checkpoint_id="c"))
    assert (found.session_id, found.checkpoint_id, found.facts.source_id) == ("session-1", "c", "native")
    assert admitted(enveloped(payload, format="agent-framework/1")).checkpoint_id is None


def test_an_engine_id_is_a_source_id() -> None:
    found = admitted(engine_document())
    assert (found.checkpoint_id, found.facts.source_id) == (None, "checkpoint-3")


@pytest.mark.parametrize("value", ["a b/c%", " " * 200, "~"])
def test_printable_ascii_is_good_for_other_ids(value: str) -> None:
    assert is_other_id(value)


@pytest.mark.parametrize("value", ["", "x" * 201, "é", "a\n", "\x7f", "a\u202eb", 5, None, ["a"]])
def test_anything_else_is_not(value: Any) -> None:
    assert not is_other_id(value)
