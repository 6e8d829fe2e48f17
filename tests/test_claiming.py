"""A claim shows who is looking; it ends by itself and can be taken over with a reason."""

from __future__ import annotations

from datetime import timedelta

import pytest

from checkpoints.errors import ClaimedByAnother, IllegalTransition, NotAllowed
from checkpoints.models import AuditEntry, Handoff
from checkpoints.services.clock import now
from reviewqueue.models import Claim, Role
from reviewqueue.services import claiming
from tests import characters


@pytest.fixture
def handoff(db: None) -> Handoff:
    return characters.flagged(characters.orchestrator())


def actions(handoff: Handoff) -> list[str]:
    entries = AuditEntry.objects.filter(subject_id=str(handoff.pk), action__startswith="handoff.")
    return [entry.action for entry in entries.order_by("subject_index")][2:]


def test_a_claim_lasts_ten_minutes_and_is_recorded(handoff: Handoff) -> None:
    alice = characters.person()
    claim = claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    assert claim.expires_at - claim.claimed_at == timedelta(minutes=10)
    assert actions(handoff) == ["handoff.claimed"]


def test_claiming_again_extends_without_a_second_entry(handoff: Handoff) -> None:
    alice = characters.person()
    claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    Claim.objects.filter(handoff=handoff).update(expires_at=now() + timedelta(seconds=5))
    claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    assert Claim.objects.get(handoff=handoff).expires_at > now() + timedelta(minutes=9)
    assert actions(handoff) == ["handoff.claimed"]


def test_taking_over_needs_a_reason(handoff: Handoff) -> None:
    alice, bob = characters.person(name="alice"), characters.person(name="bob")
    claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    with pytest.raises(ClaimedByAnother, match="alice"):
        claiming.claim(handoff_id=handoff.pk, reviewer=bob)
    assert Claim.objects.get(handoff=handoff).holder == alice
    claiming.claim(handoff_id=handoff.pk, reviewer=bob, reason="Alice went home")
    assert Claim.objects.get(handoff=handoff).holder == bob


def test_an_expired_claim_is_no_claim(handoff: Handoff) -> None:
    claiming.claim(handoff_id=handoff.pk, reviewer=characters.person())
    Claim.objects.filter(handoff=handoff).update(expires_at=now() - timedelta(seconds=1))
    bob = characters.person()
    assert claiming.claim(handoff_id=handoff.pk, reviewer=bob).holder == bob


def test_only_the_holder_releases(handoff: Handoff) -> None:
    alice = characters.person()
    claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    claiming.release(handoff_id=handoff.pk, reviewer=characters.person())
    assert Claim.objects.filter(handoff=handoff).exists()
    claiming.release(handoff_id=handoff.pk, reviewer=alice)
    assert not Claim.objects.filter(handoff=handoff).exists()
    assert actions(handoff) == ["handoff.claimed", "handoff.released"]


def test_activity_extends_only_the_holders_claim(handoff: Handoff) -> None:
    alice = characters.person()
    claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    soon = now() + timedelta(seconds=5)
    Claim.objects.filter(handoff=handoff).update(expires_at=soon)
    claiming.touch(handoff_id=handoff.pk, reviewer=characters.person())
    assert Claim.objects.get(handoff=handoff).expires_at == soon
    claiming.touch(handoff_id=handoff.pk, reviewer=alice)
    assert Claim.objects.get(handoff=handoff).expires_at > soon


def test_nothing_is_claimed_that_waits_for_nobody(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document())
    with pytest.raises(IllegalTransition):
        claiming.claim(handoff_id=handoff.pk, reviewer=characters.person())
    assert not Claim.objects.filter(handoff=handoff).exists()


@pytest.mark.parametrize("role", [Role.MANAGER, Role.ADMIN])
def test_only_operators_claim(handoff: Handoff, role: Role) -> None:
    with pytest.raises(NotAllowed):
        claiming.claim(handoff_id=handoff.pk, reviewer=characters.person(role))
    assert not Claim.objects.filter(handoff=handoff).exists()


def test_two_people_who_claim_at_once_make_one_holder(handoff: Handoff) -> None:
    people = [characters.person(), characters.person()]
    results = characters.together(
        *[lambda who=who: claiming.claim(handoff_id=handoff.pk, reviewer=who) for who in people]
    )
    assert sorted(type(item).__name__ for item in results) == ["Claim", "ClaimedByAnother"]
