"""Time may escalate or abort; it never approves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from checkpoints.models import Decision, Handoff
from checkpoints.services.clock import now
from checkpoints.services.expiry import expire_reviews
from checkpoints.services.policy import publish
from checkpoints.types import Actor
from tests import characters


def overdue(handoff: Handoff) -> None:
    Handoff.objects.filter(pk=handoff.pk).update(review_deadline=now() - timedelta(seconds=1))


def test_a_review_past_its_deadline_is_escalated_by_the_system(db: None) -> None:
    handoff = characters.flagged(characters.orchestrator())
    overdue(handoff)
    assert expire_reviews() >= 1
    handoff = characters.reload(handoff)
    decision = Decision.objects.get(handoff=handoff)
    assert (handoff.state, decision.action, decision.actor_kind) == ("escalated", "escalate", "system")


def test_a_review_within_its_deadline_is_left_alone(db: None) -> None:
    handoff = characters.flagged(characters.orchestrator())
    expire_reviews()
    assert characters.reload(handoff).version == handoff.version


def test_the_policy_may_abort_instead(db: None) -> None:
    system = Actor("system", "system:test", "Test")
    publish(document={"review": {"on_expiry": "abort"}}, actor=system)
    try:
        handoff = characters.flagged(characters.orchestrator())
    finally:
        publish(document={}, actor=system)
    overdue(handoff)
    expire_reviews()
    assert characters.reload(handoff).state == "aborted"


@pytest.mark.parametrize("rounds", [3])
def test_two_sweeps_at_once_escalate_once(db: None, rounds: int) -> None:
    owner = characters.orchestrator()
    handoffs = [characters.flagged(owner) for _ in range(rounds)]
    for handoff in handoffs:
        overdue(handoff)
    results = characters.together(expire_reviews, expire_reviews)
    assert not [item for item in results if isinstance(item, Exception)]
    assert Decision.objects.filter(handoff__in=handoffs).count() == rounds
