"""What the policy says about people and attempts takes effect: each member is changed and its effect seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from checkpoints.errors import ClaimedByAnother, InvalidInput, NotAllowed
from checkpoints.models import Handoff, Ticket
from checkpoints.services import attempts, policy
from checkpoints.services.clock import now
from checkpoints.types import Actor, CheckPolicy
from reviewqueue.services import claiming
from reviewqueue.services.deciding import decide
from reviewqueue.services.editing import edit
from tests import characters
from tests.characters import form, person

SYSTEM = Actor("system", "system:test", "Test")
# The members that are tested here.
IN_FORCE = ("self_approval_of_edits", "ticket", "approval", "review", "retry_backoff_seconds")


@pytest.fixture(autouse=True)
def _own_policies(own_database: str) -> Iterator[None]:
    policy.publish(document={}, actor=SYSTEM)
    yield
    policy.publish(document={}, actor=SYSTEM)


def under(**document: Any) -> Handoff:
    """A flagged handoff that was judged under this policy."""
    policy.publish(document=document, actor=SYSTEM)
    return characters.flagged(characters.orchestrator())


def edited(handoff: Handoff, editor: Any) -> Handoff:
    from checkpoints.services.bodies import current_body

    value = json.loads(current_body(handoff=handoff))
    value["task_status"] = "blocked"
    edit(
        handoff_id=handoff.pk,
        reviewer=editor,
        document=json.dumps(value),
        reason="It waits",
        content_digest=handoff.content_digest,
        version=handoff.version,
    )
    return characters.reload(handoff)


def test_an_editor_may_approve_alone_unless_the_policy_says_no() -> None:
    editor = person()
    allowed = edited(under(), editor)
    decide(handoff_id=allowed.pk, reviewer=editor, form=form(allowed, reason="Fine"))
    assert characters.reload(allowed).state == "approved"
    refused = edited(under(self_approval_of_edits={"low": False, "medium": False}), editor)
    with pytest.raises(NotAllowed):
        decide(handoff_id=refused.pk, reviewer=editor, form=form(refused, reason="Fine"))
    assert characters.reload(refused).state == "flagged"


def test_an_approval_needs_a_ticket_where_the_policy_says_so() -> None:
    free = under()
    decide(handoff_id=free.pk, reviewer=person(), form=form(free, reason="Fine"))
    bound = under(ticket={"pattern": "^CHG-[0-9]+$", "required_for": ["medium"]})
    for wrong in ("", "CHG-x"):
        with pytest.raises(InvalidInput):
            decide(
                handoff_id=bound.pk, reviewer=person(), form=form(bound, reason="Fine", external_ticket=wrong)
            )
    assert characters.reload(bound).state == "flagged"
    decide(handoff_id=bound.pk, reviewer=person(), form=form(bound, reason="Fine", external_ticket="CHG-12"))
    assert characters.reload(bound).state == "approved"


@pytest.mark.parametrize("seconds", [60, 5000])
def test_an_approval_is_valid_as_long_as_the_policy_says(seconds: int) -> None:
    handoff = under(approval={"valid_seconds": seconds})
    decide(handoff_id=handoff.pk, reviewer=person(), form=form(handoff, reason="Fine"))
    ticket = Ticket.objects.get(handoff=handoff)
    lasts = ticket.expires_at - ticket.issued_at
    assert abs(lasts - timedelta(seconds=seconds)) <= timedelta(seconds=1)


@pytest.mark.parametrize("seconds", [120, 7200])
def test_a_review_has_the_deadline_of_the_policy(seconds: int) -> None:
    handoff = under(review={"deadline_seconds": {"medium": seconds}})
    assert handoff.review_deadline is not None
    assert handoff.flagged_at is not None
    assert handoff.review_deadline - handoff.flagged_at == timedelta(seconds=seconds)


def test_a_claim_lasts_as_long_as_the_policy_says() -> None:
    handoff = under(review={"claim_seconds": 60})
    claiming.claim(handoff_id=handoff.pk, reviewer=person())
    with pytest.raises(ClaimedByAnother):
        decide(handoff_id=handoff.pk, reviewer=person(), form=form(handoff, reason="Fine"))
    assert now() < handoff.claim.expires_at <= now() + timedelta(seconds=60)


@pytest.mark.parametrize("seconds", [5, 300])
def test_a_retry_waits_as_long_as_the_policy_says(seconds: int) -> None:
    policy.publish(document={"retry_backoff_seconds": [seconds]}, actor=SYSTEM)
    owner = characters.orchestrator()
    handoff = characters.judged(owner, characters.document())
    characters.dispatched(owner, handoff)
    attempts.fail(
        orchestrator=owner,
        checkpoint_id=handoff.checkpoint_id,
        attempt=1,
        kind="error",
        detail="",
        actor=SYSTEM,
    )
    handoff = characters.reload(handoff)
    assert handoff.not_before is not None
    assert handoff.not_before - handoff.changed_at == timedelta(seconds=seconds)


def test_a_fresh_policy_is_the_newest_whatever_another_thread_remembers_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    policy.publish(document={"max_retries": 1}, actor=SYSTEM)
    older = policy.active(fresh=True)
    policy.publish(document={"max_retries": 2}, actor=SYSTEM)
    newest = policy.active(fresh=True)

    class Overtaken(tuple[Any, ...]):
        """What is remembered; a slower thread puts the older version in its place at the first look."""

        __slots__ = ()

        def __getitem__(self, index: Any) -> Any:
            monkeypatch.setattr(policy, "_cached", (0.0, older))
            return super().__getitem__(index)

    monkeypatch.setattr(policy, "_cached", Overtaken((0.0, newest)))
    assert policy.active(fresh=True).version == newest.version


def test_a_version_of_a_database_that_was_restored_since_is_never_taken_for_this_one_s(
    own_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = policy.publish(document={"max_retries": 2}, actor=SYSTEM)
    known = policy.of_version(version=row.version)
    other = replace(known, compiled=CheckPolicy(), published_at=now() - timedelta(hours=1))
    monkeypatch.setattr(policy, "_cached", (0.0, other))
    assert policy.active(fresh=True).compiled.max_retries == 2
