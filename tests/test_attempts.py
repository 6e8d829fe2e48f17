"""How an attempt ends, and what follows from it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from checkpoints.errors import Conflict, IllegalTransition, NotFound
from checkpoints.models import Attempt, AuditEntry, Handoff, Orchestrator
from checkpoints.services import attempts
from checkpoints.services.clock import now
from tests import characters


@pytest.fixture
def owner(db: None) -> Orchestrator:
    return characters.orchestrator()


@pytest.fixture
def handoff(owner: Orchestrator) -> Handoff:
    """Dispatched, attempt 1 in flight, two retries allowed."""
    found = characters.judged(owner, characters.document())
    characters.dispatched(owner, found)
    return characters.reload(found)


def acknowledge(owner: Orchestrator, handoff: Handoff, attempt: int = 1, digest: str | None = None) -> None:
    attempts.acknowledge(
        orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=attempt, content_digest=digest,
        receiver="billing/2", actor=characters.caller(owner),
    )  # fmt: skip


def fail(owner: Orchestrator, handoff: Handoff, attempt: int = 1) -> None:
    attempts.fail(
        orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=attempt, kind="crashed", detail="gone",
        actor=characters.caller(owner),
    )  # fmt: skip


def overdue(handoff: Handoff) -> None:
    Handoff.objects.filter(pk=handoff.pk).update(acknowledge_by=now() - timedelta(seconds=1))


def outcome(handoff: Handoff, number: int = 1) -> Any:
    return Attempt.objects.get(handoff=handoff, number=number).outcome


def test_an_acknowledgement_ends_the_handoff_and_repeats_change_nothing(
    owner: Orchestrator, handoff: Handoff
) -> None:
    acknowledge(owner, handoff, digest=handoff.content_digest)
    done = characters.reload(handoff)
    acknowledge(owner, handoff)
    assert (done.state, outcome(handoff)) == ("acknowledged", "acknowledged")
    assert characters.reload(handoff).version == done.version


def test_an_acknowledgement_of_other_content_stops_for_a_person(
    owner: Orchestrator, handoff: Handoff
) -> None:
    with pytest.raises(Conflict) as refused:
        acknowledge(owner, handoff, digest="sha256:" + "0" * 64)
    assert refused.value.slug == "digest-mismatch"
    assert characters.reload(handoff).state == "flagged"


def test_an_attempt_that_was_never_given_out_is_a_recorded_bypass(
    owner: Orchestrator, handoff: Handoff
) -> None:
    with pytest.raises(NotFound) as refused:
        acknowledge(owner, handoff, attempt=7)
    assert refused.value.slug == "attempt-not-found"
    assert characters.reload(handoff).state == "dispatched"
    assert AuditEntry.objects.filter(subject_id=str(handoff.pk), action="handoff.bypassed").count() == 1


def test_a_failed_attempt_uses_a_retry_until_a_person_is_needed(
    owner: Orchestrator, handoff: Handoff
) -> None:
    left = []
    for number in (1, 2, 3):
        left.append(handoff.retries_left)
        fail(owner, handoff, number)
        handoff = characters.reload(handoff)
        if number < 3:
            assert handoff.state == "recoverable"
            Handoff.objects.filter(pk=handoff.pk).update(not_before=None)
            characters.dispatched(owner, handoff)
            handoff = characters.reload(handoff)
    assert left == [2, 1, 0]
    assert (handoff.state, handoff.approvals_required) == ("escalated", 1)


def test_a_repeated_failure_report_changes_nothing(owner: Orchestrator, handoff: Handoff) -> None:
    fail(owner, handoff)
    version = characters.reload(handoff).version
    fail(owner, handoff)
    assert characters.reload(handoff).version == version


def test_a_missing_acknowledgement_times_the_attempt_out(owner: Orchestrator, handoff: Handoff) -> None:
    overdue(handoff)
    assert attempts.sweep_overdue_attempts() >= 1
    assert (characters.reload(handoff).state, outcome(handoff)) == ("recoverable", "timed_out")


def test_a_deadline_counts_before_the_sweep_came_by(owner: Orchestrator, handoff: Handoff) -> None:
    overdue(handoff)
    assert characters.dispatched(owner, handoff)["attempt"] == 2
    assert outcome(handoff) == "timed_out"


def test_a_late_acknowledgement_counts_while_no_newer_attempt_exists(
    owner: Orchestrator, handoff: Handoff
) -> None:
    overdue(handoff)
    attempts.sweep_overdue_attempts()
    acknowledge(owner, handoff)
    assert (characters.reload(handoff).state, outcome(handoff)) == ("acknowledged", "acknowledged")


def test_an_acknowledgement_of_a_superseded_attempt_is_refused(owner: Orchestrator, handoff: Handoff) -> None:
    fail(owner, handoff)
    characters.dispatched(owner, handoff)
    with pytest.raises(Conflict) as refused:
        acknowledge(owner, handoff, attempt=1)
    assert (refused.value.slug, refused.value.extra["attempt"]) == ("attempt-superseded", 2)
    assert characters.reload(handoff).state == "dispatched"


def test_a_refusal_goes_to_a_person_and_uses_no_retry(owner: Orchestrator, handoff: Handoff) -> None:
    attempts.refuse(
        orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=1, reason="Not my kind of work",
        actor=characters.caller(owner),
    )  # fmt: skip
    found = characters.reload(handoff)
    assert (found.state, found.round_attempts, outcome(handoff)) == ("flagged", 0, "refused")


def test_a_refused_attempt_cannot_be_acknowledged(owner: Orchestrator, handoff: Handoff) -> None:
    attempts.refuse(
        orchestrator=owner, checkpoint_id=handoff.checkpoint_id, attempt=1, reason="No",
        actor=characters.caller(owner),
    )  # fmt: skip
    with pytest.raises(IllegalTransition):
        acknowledge(owner, handoff)
    assert characters.reload(handoff).state == "flagged"


def test_cancelling_ends_the_attempt_and_voids_the_ticket(owner: Orchestrator) -> None:
    handoff = characters.approved(owner)
    characters.dispatched(owner, handoff)
    for _ in range(2):
        attempts.cancel(
            orchestrator=owner, checkpoint_id=handoff.checkpoint_id, reason="The customer withdrew",
            actor=characters.caller(owner),
        )  # fmt: skip
    assert (characters.reload(handoff).state, outcome(handoff)) == ("cancelled", "cancelled")
    assert handoff.tickets.get().revoked_at is not None
    with pytest.raises(IllegalTransition):
        acknowledge(owner, handoff)


def test_what_has_ended_cannot_be_cancelled(owner: Orchestrator, handoff: Handoff) -> None:
    acknowledge(owner, handoff)
    with pytest.raises(IllegalTransition) as refused:
        attempts.cancel(
            orchestrator=owner,
            checkpoint_id=handoff.checkpoint_id,
            reason="x",
            actor=characters.caller(owner),
        )
    assert refused.value.extra == {"state": "acknowledged", "allowed": []}
    assert characters.reload(handoff).state == "acknowledged"
