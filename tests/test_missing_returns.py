"""A receiver that promised to hand the task back and does not: the sweep says so, once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from checkpoints.models import AuditEntry, CheckRun, Handoff
from checkpoints.services import attempts, returns
from checkpoints.services.clock import now
from checkpoints.services.policy import publish
from checkpoints.types import Actor
from tests import characters

SYSTEM = Actor("system", "system:test", "Test")


def acknowledged(*, expected: bool = True, **changes: Any) -> Handoff:
    """A handoff whose receiver took it, and which expects something back."""
    owner = characters.orchestrator()
    target = {"target_role": "billing", "handoff_reason": "Check the invoice", "expected_return": expected}
    handoff = characters.judged(owner, characters.document(handoff_target=target, **changes))
    characters.dispatched(owner, handoff)
    attempts.acknowledge(
        orchestrator=owner,
        checkpoint_id=handoff.checkpoint_id,
        attempt=1,
        content_digest=None,
        receiver="billing/1",
        actor=SYSTEM,
    )
    return characters.reload(handoff)


def overdue(handoff: Handoff) -> Handoff:
    Handoff.objects.filter(pk=handoff.pk).update(return_by=now() - timedelta(seconds=1))
    return characters.reload(handoff)


def sent_back(handoff: Handoff, **changes: Any) -> Handoff:
    return characters.judged(
        handoff.orchestrator,
        characters.document(
            session_id=handoff.session.session_id,
            handoff_sequence=handoff.handoff_sequence + 1,
            agent_role=handoff.target_role,
            handoff_target={
                "target_role": handoff.agent_role,
                "handoff_reason": "Checked",
                "expected_return": False,
            },
            **changes,
        ),
    )


def test_a_return_is_awaited_for_the_handoff_timeout_after_the_acknowledgement(db: None) -> None:
    handoff = acknowledged()
    entry = AuditEntry.objects.get(subject_id=str(handoff.pk), action="handoff.acknowledged")
    assert handoff.return_by == entry.at + timedelta(seconds=900)
    returns.note_missing_returns()
    assert characters.reload(handoff).version == handoff.version


def test_nothing_is_awaited_where_nothing_was_promised(db: None) -> None:
    assert acknowledged(expected=False).return_by is None


def test_a_return_that_did_not_come_is_found_once(db: None) -> None:
    handoff = overdue(acknowledged())
    before = CheckRun.objects.get(handoff=handoff)
    assert returns.note_missing_return(handoff_id=handoff.pk) is True
    assert returns.note_missing_return(handoff_id=handoff.pk) is False
    after = characters.reload(handoff)
    assert (after.state, after.return_by, after.version) == ("acknowledged", None, handoff.version + 1)
    assert after.finding_codes == sorted({*handoff.finding_codes, "HC-79"})
    run = CheckRun.objects.filter(handoff=handoff).order_by("-finished_at")[0]
    assert [item["code"] for item in run.findings] == [*(item["code"] for item in before.findings), "HC-79"]
    assert (run.outcome, run.complete, run.risk) == (before.outcome, before.complete, before.risk)
    entry = AuditEntry.objects.get(subject_id=str(handoff.pk), action="handoff.return_missed")
    assert "billing" in (entry.text.reason or "")


def test_the_orchestrator_reads_it_among_the_warnings(db: None) -> None:
    from checkpoints.api.representation import resource

    handoff = overdue(acknowledged())
    returns.note_missing_returns()
    shown = resource(characters.reload(handoff))
    [warning] = [item for item in shown["warnings"] if item["code"] == "HC-79"]
    assert (warning["severity"], warning["pointer"]) == ("low", "/handoff_target/expected_return")


def test_a_return_that_came_is_not_missed(db: None) -> None:
    handoff = acknowledged()
    sent_back(handoff)
    overdue_at = Handoff.objects.get(session=handoff.session, agent_role="billing").received_at
    Handoff.objects.filter(pk=handoff.pk).update(return_by=overdue_at + timedelta(microseconds=1))
    assert returns.note_missing_return(handoff_id=handoff.pk) is False
    after = characters.reload(handoff)
    assert (after.return_by, after.finding_codes) == (None, handoff.finding_codes)


def test_a_return_that_came_too_late_is_missed(db: None) -> None:
    handoff = overdue(acknowledged())
    sent_back(handoff)
    assert returns.note_missing_return(handoff_id=handoff.pk) is True


def test_a_handoff_to_somebody_else_is_no_return(db: None) -> None:
    handoff = acknowledged()
    characters.judged(
        handoff.orchestrator,
        characters.document(
            session_id=handoff.session.session_id,
            handoff_sequence=handoff.handoff_sequence + 1,
            agent_role="billing",
        ),
    )
    overdue(handoff)
    assert returns.note_missing_return(handoff_id=handoff.pk) is True


def test_a_policy_that_ignores_it_leaves_the_findings_alone(db: None) -> None:
    publish(document={"checks": {"HC-79": {"disposition": "ignore"}}}, actor=SYSTEM)
    try:
        handoff = overdue(acknowledged())
    finally:
        publish(document={}, actor=SYSTEM)
    assert returns.note_missing_return(handoff_id=handoff.pk) is False
    after = characters.reload(handoff)
    assert (after.finding_codes, after.return_by) == (handoff.finding_codes, None)


@pytest.mark.parametrize("sweeps", [3])
def test_sweeps_at_once_find_it_once(db: None, sweeps: int) -> None:
    handoff = overdue(acknowledged())
    results = characters.together(*[returns.note_missing_returns] * sweeps)
    assert not [item for item in results if isinstance(item, Exception)]
    assert AuditEntry.objects.filter(subject_id=str(handoff.pk), action="handoff.return_missed").count() == 1
