"""Attempts go out one at a time, and only with what was cleared or approved."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from checkpoints import signing
from checkpoints.errors import Conflict, NotFound, Unavailable
from checkpoints.models import Attempt, AuditEntry, Handoff, Ticket
from checkpoints.services import attempts
from checkpoints.services.clock import now
from checkpoints.tickets import verify
from tests import characters


def test_a_cleared_handoff_goes_out_with_its_content_and_no_ticket(db: None) -> None:
    owner = characters.orchestrator()
    document = characters.document()
    answer = characters.dispatched(owner, characters.judged(owner, document))
    assert answer["payload"] == document
    assert (answer["attempt"], answer["revision"], answer["approval_ticket"]) == (1, 1, None)
    assert answer["idempotency_key"] == document["recovery_instructions"]["idempotency_key"]
    assert answer["already_committed"] == ["read-claim"]
    assert answer["retries_left"] == 2


def test_an_approved_handoff_goes_out_with_a_ticket_for_this_attempt(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.approved(owner)
    answer = characters.dispatched(owner, handoff)
    found = verify(
        answer["approval_ticket"],
        jwks=signing.current().jwks(),
        now=int(now().timestamp()),
        audience="billing",
        content_digest=answer["content_digest"],
    )
    assert found.problems == ()
    assert found.claims is not None
    assert (found.claims["attempt"], found.claims["sub"]) == (1, handoff.checkpoint_id)
    assert Ticket.objects.get(reference=answer["approval_ticket_reference"]).redeemed_at is not None


@pytest.mark.parametrize("state", ["flagged", "received"])
def test_what_nobody_let_through_does_not_go_out(db: None, state: str) -> None:
    owner = characters.orchestrator()
    handoff = (
        characters.flagged(owner) if state == "flagged" else characters.post(owner, characters.document())
    )
    with pytest.raises(Conflict) as refused:
        characters.dispatched(owner, handoff)
    assert refused.value.slug == "not-dispatchable"
    assert refused.value.extra["state"] == state
    assert not Attempt.objects.filter(handoff=handoff).exists()


def test_one_attempt_is_in_flight_at_a_time(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.judged(owner, characters.document())
    characters.dispatched(owner, handoff)
    with pytest.raises(Conflict) as refused:
        characters.dispatched(owner, handoff)
    assert (refused.value.slug, refused.value.extra["attempt"]) == ("attempt-in-flight", 1)
    assert 0 < (refused.value.retry_after or 0) <= 901


def test_the_same_key_gets_the_same_answer_while_its_attempt_flies(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.approved(owner)
    first = characters.dispatched(owner, handoff, key="attempt-one")
    assert characters.dispatched(owner, handoff, key="attempt-one") == first
    attempts.acknowledge(
        orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=1, content_digest=None, receiver=None,
        actor=characters.caller(owner),
    )  # fmt: skip
    with pytest.raises(Conflict) as refused:
        characters.dispatched(owner, handoff, key="attempt-one")
    assert refused.value.slug == "attempt-superseded"
    assert Attempt.objects.filter(handoff=handoff).count() == 1


@pytest.mark.parametrize("rounds", [5, pytest.param(200, marks=pytest.mark.full)])
def test_two_calls_at_once_start_one_attempt(db: None, rounds: int) -> None:
    owner = characters.orchestrator()
    for _ in range(rounds):
        handoff = characters.judged(owner, characters.document())
        results = characters.together(*[lambda: characters.dispatched(owner, handoff)] * 2)  # noqa: B023
        assert sorted(type(item).__name__ for item in results) == ["Conflict", "dict"]


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_sender_whose_clock_is_wrong_moves_no_deadline_and_no_state(db: None, hours: int) -> None:
    owner, session = characters.orchestrator(), characters.fresh("session")
    stamp = (now() + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    handoff = characters.flagged(owner, session_id=session, timestamp=stamp)
    assert handoff.review_deadline is not None
    assert timedelta(minutes=59) < handoff.review_deadline - handoff.received_at < timedelta(minutes=61)
    assert abs(now() - handoff.received_at) < timedelta(minutes=1)
    clear = characters.document(session_id=session, handoff_sequence=2, task_id="T-2", timestamp=stamp)
    other = characters.judged(owner, clear)
    assert other.state == "cleared", "its time is a finding, no verdict"
    sent_at, answer = now(), characters.dispatched(owner, other)
    assert timedelta(minutes=14) < datetime.fromisoformat(answer["acknowledge_by"]) - sent_at
    assert datetime.fromisoformat(answer["acknowledge_by"]) - sent_at < timedelta(minutes=16)


def test_another_orchestrators_handoff_is_not_there(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document())
    with pytest.raises(NotFound):
        characters.dispatched(characters.orchestrator(), handoff)
    assert characters.reload(handoff).state == "cleared"


def test_a_later_attempt_carries_the_same_approval_signed_anew(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.approved(owner)
    first = characters.dispatched(owner, handoff)
    attempts.fail(
        orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=1, kind="crashed", detail="",
        actor=characters.caller(owner),
    )  # fmt: skip
    second = characters.dispatched(owner, handoff)
    assert second["approval_ticket_reference"] == first["approval_ticket_reference"]
    jwks = signing.current().jwks()
    claims = [
        verify(item["approval_ticket"], jwks=jwks, now=int(now().timestamp())).claims
        for item in (first, second)
    ]
    assert claims[0] is not None
    assert claims[1] is not None
    assert {key for key in claims[0] if claims[0][key] != claims[1][key]} <= {"iat", "nbf", "exp", "attempt"}
    assert (claims[1]["attempt"], second["retries_left"]) == (2, 1)


def test_an_expired_ticket_is_signed_anew_while_its_decision_is_young(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.approved(owner)
    Ticket.objects.filter(handoff=handoff).update(expires_at=now() - timedelta(seconds=1))
    answer = characters.dispatched(owner, handoff)
    assert Ticket.objects.get(reference=answer["approval_ticket_reference"]).expires_at > now()


def test_an_approval_that_is_too_old_goes_back_to_review(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.approved(owner)
    Ticket.objects.filter(handoff=handoff).update(
        expires_at=now() - timedelta(days=2), decided_at=now() - timedelta(days=2)
    )
    with pytest.raises(Conflict) as refused:
        characters.dispatched(owner, handoff)
    assert refused.value.slug == "not-dispatchable"
    assert refused.value.extra == {"state": "flagged", "problem": "ticket-expired"}
    handoff = characters.reload(handoff)
    assert (handoff.state, handoff.approvals_given) == ("flagged", 0)
    assert not Attempt.objects.filter(handoff=handoff).exists()


def test_a_ticket_row_written_by_hand_opens_nothing(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.approved(owner)
    other = characters.approved(owner)
    stolen = Ticket.objects.get(handoff=other).token
    Ticket.objects.filter(handoff=handoff).update(token=stolen)
    with pytest.raises(Conflict) as refused:
        characters.dispatched(owner, handoff)
    assert refused.value.slug == "not-dispatchable"
    assert refused.value.extra == {"state": "flagged", "problem": "ticket-content-mismatch"}
    assert Ticket.objects.get(handoff=handoff).revoked_at is not None
    assert characters.reload(handoff).state == "flagged"


def test_without_a_signing_key_approved_handoffs_wait(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.approved(owner)
    signer = signing.current()
    signing.install(None)
    try:
        with pytest.raises(Unavailable) as refused:
            characters.dispatched(owner, handoff)
    finally:
        signing.install(signer)
    assert refused.value.slug == "signer-unavailable"
    assert characters.reload(handoff).state == "approved"
    assert characters.dispatched(owner, handoff)["attempt"] == 1


def test_no_attempt_starts_before_its_time(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.judged(owner, characters.document())
    characters.dispatched(owner, handoff)
    attempts.fail(
        orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=1, kind="error", detail="busy",
        actor=characters.caller(owner),
    )  # fmt: skip
    Handoff.objects.filter(pk=handoff.pk).update(not_before=now() + timedelta(seconds=40))
    with pytest.raises(Conflict) as refused:
        characters.dispatched(owner, handoff)
    assert refused.value.slug == "not-dispatchable"
    assert 30 < (refused.value.retry_after or 0) <= 41


def test_every_step_out_is_in_the_audit_trail(db: None) -> None:
    owner = characters.orchestrator()
    handoff = characters.approved(owner)
    characters.dispatched(owner, handoff)
    actions = AuditEntry.objects.filter(subject_id=str(handoff.pk)).order_by("subject_index")
    assert [entry.action for entry in actions] == [
        "handoff.received", "handoff.flagged", "ticket.issued", "handoff.approved", "ticket.redeemed",
        "handoff.dispatched",
    ]  # fmt: skip
