"""Posting a checkpoint: stored before it is judged, and safe to repeat."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings

from checkpoints.canonical import digest, digest_bytes
from checkpoints.models import AuditEntry, Handoff, Refusal
from tests import characters
from tests.api.calling import Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def test_a_flat_document_is_stored_and_answered_with_its_resource(api: Api) -> None:
    document = characters.document()
    body = json.dumps(document).encode()
    response = api.submit(body)
    assert response.status_code == 201
    shown = response.json()
    address = f"{settings.PUBLIC_URL}/api/v1/handoffs/{document['checkpoint_id']}"
    assert response.headers["Location"] == shown["links"]["self"] == address
    assert "Idempotency-Replayed" not in response.headers
    assert (shown["state"], shown["verdict"], shown["format"]) == ("received", None, "handoff/1")
    assert shown["body_digest"] == digest_bytes(body)
    assert shown["content_digest"] == digest(document)
    assert api.get(f"/api/v1/handoffs/{document['checkpoint_id']}/body").content == body


def test_an_envelope_is_digested_by_its_payload(api: Api) -> None:
    document = characters.document()
    envelope = {"format": "handoff/1", "risk_level": "low", "payload": document}
    shown = api.submit(envelope).json()
    assert shown["content_digest"] == digest(document)
    assert shown["checkpoint_id"] == document["checkpoint_id"]


def test_the_same_bytes_again_are_answered_with_the_same_handoff(api: Api) -> None:
    body = json.dumps(characters.document()).encode()
    first, second = api.submit(body), api.submit(body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert second.headers["Location"] == first.headers["Location"]
    assert second.content == first.content
    assert second.headers["ETag"] == first.headers["ETag"]
    assert api.count() == 1


def test_a_document_without_an_id_may_be_posted_again_after_a_lost_answer(api: Api) -> None:
    document = characters.document()
    for name in ("checkpoint_id", "handoff_sequence"):
        document.pop(name)
    body = json.dumps(document).encode()
    first, second = api.submit(body), api.submit(body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["checkpoint_id"] == second.json()["checkpoint_id"]
    assert first.json()["handoff_sequence"] == 1
    assert api.count() == 1


def test_missing_sequences_are_the_next_of_the_session(api: Api) -> None:
    session = characters.fresh("session")
    numbers = [
        api.submit(characters.document(session_id=session, handoff_sequence=...)).json()["handoff_sequence"]
        for _ in range(3)
    ]
    assert numbers == [1, 2, 3]


def test_the_same_id_with_other_bytes_is_a_conflict_with_both_digests(api: Api) -> None:
    document = characters.document()
    first, second = json.dumps(document).encode(), json.dumps(document, indent=1).encode()
    api.submit(first)
    found = problem(api.submit(second), 409, "checkpoint-conflict")
    assert (found["stored_digest"], found["received_digest"]) == (digest_bytes(first), digest_bytes(second))
    refusal = Refusal.objects.get(orchestrator=api.owner)
    assert (bytes(refusal.body.content), refusal.checkpoint_id) == (second, document["checkpoint_id"])
    assert AuditEntry.objects.filter(subject_kind="refusal", subject_id=str(refusal.pk)).count() == 1


def test_a_taken_sequence_is_a_conflict_that_names_the_next(api: Api) -> None:
    first = characters.document()
    api.submit(first)
    second = characters.document(session_id=first["session_id"])
    found = problem(api.submit(second), 409, "sequence-conflict")
    assert found["next_sequence"] == 2
    assert api.count() == 1
    repaired = second | {"handoff_sequence": 2}
    assert api.submit(characters.seal(repaired)).status_code == 201


def test_after_the_last_sequence_there_is_none(api: Api) -> None:
    session = characters.fresh("session")
    api.submit(characters.document(session_id=session, handoff_sequence=2**53 - 1))
    for sequence in (..., 2**53 - 1):
        document = characters.document(session_id=session, handoff_sequence=sequence)
        found = problem(api.submit(document), 409, "sequence-conflict")
        assert found["next_sequence"] is None


def test_a_lower_sequence_that_is_free_is_stored(api: Api) -> None:
    session = characters.fresh("session")
    assert api.submit(characters.document(session_id=session, handoff_sequence=5)).status_code == 201
    assert api.submit(characters.document(session_id=session, handoff_sequence=2)).status_code == 201


def test_a_refused_post_burns_neither_id_nor_sequence(api: Api) -> None:
    document = characters.document()
    api.submit(document | {"format": "unknown/9"})
    assert api.submit(document).status_code == 201


def test_a_rejected_one_burns_its_id_and_sequence(api: Api) -> None:
    rejected = api.submitted(characters.document(consistency_hash="1f" * 16 + "2e" * 16))
    assert rejected["state"] == "rejected"
    found = problem(
        api.submit(characters.document(session_id=rejected["session_id"])), 409, "sequence-conflict"
    )
    assert found["next_sequence"] == 2


def test_two_orchestrators_may_use_the_same_names(api: Api) -> None:
    document, other = characters.document(), Api()
    assert api.submit(document).status_code == other.submit(document).status_code == 201
    assert (
        api.handoff(document["checkpoint_id"])["links"]["review"]
        != other.handoff(document["checkpoint_id"])["links"]["review"]
    )


def test_many_posts_of_the_same_bytes_at_once_store_one_handoff(api: Api) -> None:
    body = json.dumps(characters.document()).encode()
    answers = characters.together(*[lambda: Api(api.owner).submit(body)] * 16)
    statuses = sorted(response.status_code for response in answers)
    assert statuses == [200] * 15 + [201]
    assert len({response.json()["links"]["review"] for response in answers}) == 1
    assert api.count() == 1


def test_many_posts_without_an_id_at_once_store_one_handoff(api: Api) -> None:
    body = json.dumps(characters.document(checkpoint_id=..., handoff_sequence=...)).encode()
    answers = characters.together(*[lambda: Api(api.owner).submit(body)] * 8)
    assert sorted(response.status_code for response in answers) == [200] * 7 + [201]
    assert api.count() == 1


def test_one_id_in_two_sessions_at_once_is_stored_once(api: Api) -> None:
    name = characters.fresh("ckpt")
    documents = [characters.document(checkpoint_id=name) for _ in range(8)]
    answers = characters.together(
        *[lambda document=document: Api(api.owner).submit(document) for document in documents]
    )
    assert sorted(response.status_code for response in answers) == [201] + [409] * 7
    assert api.count() == 1


def test_one_sequence_for_many_documents_at_once_is_given_once(api: Api) -> None:
    session = characters.fresh("session")
    documents = [characters.document(session_id=session) for _ in range(8)]
    answers = characters.together(
        *[lambda document=document: Api(api.owner).submit(document) for document in documents]
    )
    assert sorted(response.status_code for response in answers) == [201] + [409] * 7


def test_many_documents_of_one_session_get_dense_sequences(api: Api) -> None:
    session = characters.fresh("session")
    answers = characters.together(
        *[
            lambda: Api(api.owner).submit(characters.document(session_id=session, handoff_sequence=...))
            for _ in range(8)
        ]
    )
    assert sorted(response.json()["handoff_sequence"] for response in answers) == list(range(1, 9))


def test_request_and_trace_reach_the_audit_entry(api: Api) -> None:
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    response = api.submit(
        characters.document(), X_Request_ID="req-77", traceparent=f"00-{trace}-00f067aa0ba902b7-01"
    )
    pk = response.json()["links"]["review"].rstrip("/").rsplit("/", 1)[1]
    entry = AuditEntry.objects.get(subject_kind="handoff", subject_id=pk)
    assert (entry.action, entry.request_id, entry.trace_id) == ("handoff.received", "req-77", trace)


@pytest.mark.parametrize(
    "setting", [{"SUBMISSIONS_PER_MINUTE": 2}, {"QUEUE_QUOTA": 2}], ids=["rate", "quota"]
)
def test_rates_and_quotas_hold_when_they_are_set(api: Api, settings: Any, setting: dict[str, int]) -> None:
    for name, value in setting.items():
        setattr(settings, name, value)
    slug = "rate-limited" if "SUBMISSIONS_PER_MINUTE" in setting else "queue-quota"
    assert [api.submit(characters.document()).status_code for _ in range(2)] == [201, 201]
    response = api.submit(characters.document())
    problem(response, 429, slug)
    assert 1 <= int(response.headers["Retry-After"]) <= 60
    assert api.count() == 2
    assert not Refusal.objects.filter(orchestrator=api.owner).exists()
    assert Api().submit(characters.document()).status_code == 201


def test_an_engine_checkpoint_is_named_by_its_session(api: Api) -> None:
    engine = {
        "id": "checkpoint-1", "sessionId": characters.fresh("session"), "turnId": "t", "runId": "run-1",
        "iteration": 0, "lastSequence": 3, "messages": [], "stablePrefixMessages": 0,
        "contextState": {"portability": "portable"},
    }  # fmt: skip
    shown = api.submit(engine).json()
    assert (shown["format"], shown["source_id"]) == ("prompty.engine/1", "checkpoint-1")
    assert shown["session_id"] == engine["sessionId"]
    assert Handoff.objects.get(orchestrator=api.owner).id_assigned
