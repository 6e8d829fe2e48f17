"""Dispatch and what follows, over HTTP."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from django.db import connection

from checkpoints.models import AuditEntry
from checkpoints.services.policy import publish
from tests import characters
from tests.api.calling import CLI, Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def ready(api: Api, **changes: Any) -> str:
    shown = api.submitted(**changes)
    assert shown["state"] == "cleared"
    return str(shown["checkpoint_id"])


def test_a_cleared_handoff_goes_out_and_is_acknowledged(api: Api) -> None:
    document = characters.document(handoff_target={"target_role": "billing", "handoff_reason": ""})
    name = api.submitted(document)["checkpoint_id"]
    sent = api.verb(name, "dispatch").json()
    assert (sent["attempt"], sent["payload"], sent["target_role"]) == (1, document, "billing")
    assert [item["code"] for item in sent["warnings"]] == [
        item["code"] for item in api.handoff(name)["warnings"]
    ]
    shown = api.verb(
        name, "ack", {"attempt": 1, "content_digest": sent["content_digest"], "receiver": "billing/2"}
    )
    assert (shown.status_code, shown.json()["state"]) == (200, "acknowledged")
    assert shown.json()["attempts"][0]["outcome"] == "acknowledged"
    assert api.verb(name, "ack", {"attempt": 1}).json() == shown.json()


def test_dispatch_needs_no_body_and_takes_an_empty_object(api: Api) -> None:
    names = [ready(api) for _ in range(3)]
    path = "/api/v1/handoffs/{}/dispatch"
    assert api.client.generic("POST", path.format(names[0])).status_code == 200
    assert api.post(path.format(names[1]), b"").status_code == 200
    assert api.post(path.format(names[2]), {}).status_code == 200
    problem(
        api.client.post(path.format(names[2]), "{}", content_type="text/plain"), 415, "unsupported-media-type"
    )


def test_the_same_key_gets_the_same_answer_while_its_attempt_flies(api: Api) -> None:
    name = ready(api)
    first = api.verb(name, "dispatch", Idempotency_Key="k-1")
    second = api.verb(name, "dispatch", Idempotency_Key="k-1")
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()
    api.verb(name, "fail", {"attempt": 1, "kind": "error", "detail": "lost"})
    found = problem(api.verb(name, "dispatch", Idempotency_Key="k-1"), 409, "attempt-superseded")
    assert found["state"] == "recoverable"


@pytest.mark.parametrize("key", ["", "x" * 256, "a\x7fb", "a\tb", "ключ"])
def test_a_key_that_cannot_be_one_is_refused_before_anything_happens(api: Api, key: str) -> None:
    name = ready(api)
    response = api.client.generic("POST", f"/api/v1/handoffs/{name}/dispatch", HTTP_IDEMPOTENCY_KEY=key)
    problem(response, 400, "invalid-parameter")
    assert api.handoff(name)["attempts"] == []


def test_a_key_of_255_characters_works(api: Api) -> None:
    assert api.verb(ready(api), "dispatch", Idempotency_Key="x" * 255).status_code == 200


def test_a_second_attempt_waits_for_the_first(api: Api) -> None:
    name = ready(api)
    sent = api.verb(name, "dispatch").json()
    response = api.verb(name, "dispatch")
    found = problem(response, 409, "attempt-in-flight")
    assert (found["attempt"], found["acknowledge_by"]) == (1, sent["acknowledge_by"])
    assert 1 <= int(response.headers["Retry-After"]) <= 901


def test_two_dispatches_at_once_start_one_attempt(api: Api) -> None:
    name = ready(api)
    answers = characters.together(*[lambda: Api(api.owner).verb(name, "dispatch")] * 6)
    assert sorted(response.status_code for response in answers) == [200] + [409] * 5
    assert len(api.handoff(name)["attempts"]) == 1


def test_cancel_against_dispatch_has_one_winner(api: Api) -> None:
    for _ in range(5):
        name = ready(api)
        sent, cancelled = characters.together(
            partial(Api(api.owner).verb, name, "dispatch"),
            partial(Api(api.owner).verb, name, "cancel", {"reason": "no longer needed"}),
        )
        assert cancelled.status_code == 200
        assert sent.status_code in (200, 409)
        shown = api.handoff(name)
        assert shown["state"] == "cancelled"
        assert [item["outcome"] for item in shown["attempts"]] == (
            ["cancelled"] if sent.status_code == 200 else []
        )


@pytest.mark.parametrize("state", ["received", "flagged", "rejected", "cancelled", "acknowledged"])
def test_what_may_not_go_out_says_in_which_state_it_is(api: Api, state: str) -> None:
    if state == "received":
        name = api.submit(characters.document()).json()["checkpoint_id"]
    elif state == "flagged":
        name = api.submitted(human_approval_required=True)["checkpoint_id"]
    elif state == "rejected":
        name = api.submitted(characters.document(consistency_hash="1f" * 16 + "2e" * 16))["checkpoint_id"]
    else:
        name = ready(api)
        if state == "cancelled":
            api.verb(name, "cancel", {"reason": "no"})
        else:
            api.verb(name, "dispatch")
            api.verb(name, "ack", {"attempt": 1})
    response = api.verb(name, "dispatch")
    assert problem(response, 409, "not-dispatchable")["state"] == state
    assert ("Retry-After" in response.headers) is (state == "received")


def test_back_off_is_told_with_the_time_it_takes(api: Api) -> None:
    publish(document={"retry_backoff_seconds": [40]}, actor=CLI)
    try:
        name = ready(api)
        api.verb(name, "dispatch")
        shown = api.verb(name, "fail", {"attempt": 1, "kind": "timed_out", "detail": ""}).json()
        assert (shown["state"], shown["attempts"][0]["outcome"]) == ("recoverable", "timed_out")
        response = api.verb(name, "dispatch")
        assert problem(response, 409, "not-dispatchable")["not_before"] == shown["not_before"]
        assert 30 <= int(response.headers["Retry-After"]) <= 41
    finally:
        publish(document={}, actor=CLI)


def test_an_attempt_nobody_asked_for_is_recorded_as_a_bypass(api: Api) -> None:
    name = ready(api)
    problem(api.verb(name, "ack", {"attempt": 1}), 404, "attempt-not-found")
    pk = api.handoff(name)["links"]["review"].rstrip("/").rsplit("/", 1)[1]
    assert AuditEntry.objects.filter(subject_id=pk, action="handoff.bypassed").count() == 1
    problem(api.verb(name, "fail", {"attempt": 3, "kind": "error", "detail": ""}), 404, "attempt-not-found")


def test_another_digest_is_a_mismatch_and_stops_in_the_queue(api: Api) -> None:
    name = ready(api)
    api.verb(name, "dispatch")
    problem(api.verb(name, "ack", {"attempt": 1, "content_digest": "0" * 64}), 409, "digest-mismatch")
    assert api.handoff(name)["state"] == "flagged"


def test_a_digest_may_be_written_in_any_of_the_accepted_ways(api: Api) -> None:
    for write in (str.upper, lambda text: text.removeprefix("sha256:"), lambda text: text):
        name = ready(api)
        digest = api.verb(name, "dispatch").json()["content_digest"]
        assert api.verb(name, "ack", {"attempt": 1, "content_digest": write(digest)}).status_code == 200


def test_a_late_acknowledgement_counts_until_a_newer_attempt(api: Api) -> None:
    name = ready(api)
    api.verb(name, "dispatch")
    api.verb(name, "fail", {"attempt": 1, "kind": "error", "detail": "no answer"})
    api.verb(name, "dispatch")
    problem(api.verb(name, "ack", {"attempt": 1}), 409, "attempt-superseded")
    api.verb(name, "fail", {"attempt": 2, "kind": "crashed", "detail": "no answer"})
    assert api.verb(name, "ack", {"attempt": 2}).json()["state"] == "acknowledged"


def test_a_refusal_goes_to_a_person_and_uses_no_retry(api: Api) -> None:
    name = ready(api)
    api.verb(name, "dispatch")
    shown = api.verb(name, "refuse", {"attempt": 1, "reason": "not my task"}).json()
    assert (shown["state"], shown["retries_left"]) == ("flagged", 2)
    assert shown["attempts"][0]["outcome"] == "refused"


def test_an_illegal_step_names_the_state_and_what_can_follow(api: Api) -> None:
    name = ready(api)
    api.verb(name, "dispatch")
    api.verb(name, "ack", {"attempt": 1})
    found = problem(api.verb(name, "cancel", {"reason": "too late"}), 409, "invalid-transition")
    assert (found["state"], found["allowed"]) == ("acknowledged", [])


def test_an_overdue_attempt_counts_as_lost_when_somebody_looks(api: Api) -> None:
    publish(document={"handoff_timeout_seconds": 1}, actor=CLI)
    try:
        name = ready(api)
        api.verb(name, "dispatch")
        time.sleep(1.1)
        shown = api.handoff(name)
    finally:
        publish(document={}, actor=CLI)
    assert (shown["state"], shown["attempts"][0]["outcome"]) == ("recoverable", "timed_out")


def test_an_overdue_review_is_escalated_when_somebody_looks(api: Api) -> None:
    name = api.submitted(human_approval_required=True)["checkpoint_id"]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE handoff SET review_deadline = clock_timestamp() - interval '1 s' WHERE checkpoint_id = %s",
            [name],
        )
    assert api.handoff(name)["state"] == "escalated"


# Bodies that do not fit: verb, body, pointer and code of the first error.
UNFIT = [
    ("dispatch", {"attempt": 1}, "/attempt", "additionalProperties"),
    ("ack", {}, "/attempt", "required"),
    ("ack", {"attempt": "1"}, "/attempt", "type"),
    ("ack", {"attempt": 1.0}, "/attempt", "type"),
    ("ack", {"attempt": True}, "/attempt", "type"),
    ("ack", {"attempt": 0}, "/attempt", "minimum"),
    ("ack", {"attempt": 2**31}, "/attempt", "maximum"),
    ("ack", {"attempt": 1, "content_digest": "sha256:xyz"}, "/content_digest", "pattern"),
    ("ack", {"attempt": 1, "receiver": 7}, "/receiver", "type"),
    ("ack", {"attempt": 1, "approved_by": "me"}, "/approved_by", "additionalProperties"),
    ("ack", {"attempt": 1, "a/b~c": 1}, "/a~1b~0c", "additionalProperties"),
    ("fail", {"attempt": 1, "detail": ""}, "/kind", "required"),
    ("fail", {"attempt": 1, "kind": "odd", "detail": ""}, "/kind", "enum"),
    ("fail", {"attempt": 1, "kind": "error"}, "/detail", "required"),
    ("refuse", {"attempt": 1}, "/reason", "required"),
    ("refuse", {"attempt": 1, "reason": ""}, "/reason", "minLength"),
    ("cancel", {"reason": "x" * 4001}, "/reason", "maxLength"),
    ("cancel", {"reason": ["x"]}, "/reason", "type"),
]


@pytest.mark.parametrize(("verb", "body", "pointer", "code"), UNFIT)
def test_a_body_that_does_not_fit_is_refused_with_its_pointer(
    api: Api, verb: str, body: Any, pointer: str, code: str
) -> None:
    name = ready(api)
    found = problem(api.verb(name, verb, body), 422, "invalid-body")
    assert (found["errors"][0]["pointer"], found["errors"][0]["code"]) == (pointer, code)
    assert api.handoff(name)["state"] == "cleared"


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        (b"", 400, "malformed-json"),
        (b"{", 400, "malformed-json"),
        (b"[]", 422, "not-an-object"),
        (b'{"attempt":1,"attempt":2}', 422, "duplicate-key"),
        (b'{"attempt":1,"receiver":"\\u0000"}', 422, "forbidden-character"),
        (b'{"attempt":NaN}', 400, "malformed-json"),
    ],
)
def test_bytes_of_a_report_are_read_as_strictly_as_a_checkpoint(
    api: Api, body: bytes, status: int, slug: str
) -> None:
    problem(api.verb(ready(api), "ack", body), status, slug)
    assert api.get("/api/v1/refusals").json()["results"] == [], "only checkpoints are kept"
