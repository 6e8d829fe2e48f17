"""The drain judges what is due, once, in the order of each session."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from structlog.testing import capture_logs

from checkpoints.formats import reread
from checkpoints.models import AuditEntry, CheckRun, Handoff
from checkpoints.services import verdict, verification
from checkpoints.services.bodies import current_body
from checkpoints.services.clock import now
from checkpoints.services.verdict import Judged
from checkpoints.types import Submission
from tests import characters


def test_a_harmless_checkpoint_clears(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document())
    assert (handoff.state, handoff.reasons, handoff.finding_codes) == ("cleared", [], [])


def test_a_contradiction_is_flagged_with_its_finding(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document(task_status="completed"))
    assert handoff.state == "flagged"
    assert handoff.reasons == ["findings"]
    assert "HC-18" in handoff.finding_codes
    assert handoff.review_deadline is not None


def test_a_verdict_stands_with_its_run_and_its_audit_entry(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document())
    run = CheckRun.objects.get(handoff=handoff)
    assert (run.complete, run.outcome, run.revision) == (True, "cleared", 1)
    actions = AuditEntry.objects.filter(subject_id=str(handoff.pk)).order_by("subject_index")
    assert [entry.action for entry in actions] == ["handoff.received", "handoff.cleared"]


def test_one_line_is_logged_per_verdict_without_content(db: None) -> None:
    document = characters.document()
    handoff = characters.post(characters.orchestrator(), document)
    with capture_logs() as lines:
        verification.drain()
    (line,) = [item for item in lines if item.get("checkpoint_id") == handoff.checkpoint_id]
    assert line["event"] == "handoff.judged"
    assert {"handoff_sequence", "agent_id", "document_tokens", "outcome", "storage_ms"} <= line.keys()
    assert "cracked screen" not in str(line)


def test_rows_of_a_session_are_judged_in_sequence_order(db: None) -> None:
    owner, session = characters.orchestrator(), characters.fresh("session")
    posted = [
        characters.post(owner, characters.document(session_id=session, handoff_sequence=number))
        for number in (3, 1, 2)
    ]
    verification.drain()
    rows = Handoff.objects.filter(pk__in=[item.pk for item in posted]).order_by("checked_at")
    assert [row.handoff_sequence for row in rows] == [1, 2, 3]


def test_two_drains_at_once_judge_each_row_once(db: None) -> None:
    owner = characters.orchestrator()
    posted = [characters.post(owner, characters.document()).pk for _ in range(30)]
    failures: list[BaseException] = []

    def run() -> None:
        try:
            verification.drain()
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert CheckRun.objects.filter(handoff__in=posted).count() == len(posted)


def test_a_late_result_is_refused_once_the_row_was_taken_over(db: None) -> None:
    handoff = characters.post(characters.orchestrator(), characters.document())
    with verification._presence() as key:
        mine = [
            item
            for item in verification.claim(key=key, limit=500, tried="= 0")
            if item.handoff.pk == handoff.pk
        ]
        Handoff.objects.filter(pk=handoff.pk).update(check_attempts=2)
        with capture_logs() as lines:
            assert verification.judge_batch(mine) == 0
    assert [line["event"] for line in lines] == ["verdict.discarded"]
    assert Handoff.objects.get(pk=handoff.pk).state == "received"


def test_the_claims_of_a_dead_drain_are_free_at_once(db: None) -> None:
    handoff = characters.post(characters.orchestrator(), characters.document())
    verification.release_orphans()  # what earlier tests left
    with verification._presence() as key:
        verification.claim(key=key, limit=500, tried="= 0")
        assert verification.release_orphans() == 0
    Handoff.objects.filter(pk=handoff.pk).update(check_lease_until=now() + timedelta(hours=1))
    assert verification.release_orphans() >= 1
    verification.drain()
    assert Handoff.objects.get(pk=handoff.pk).state == "cleared"


def test_a_document_whose_checks_died_three_times_waits_for_a_person(db: None) -> None:
    handoff = characters.post(characters.orchestrator(), characters.document())
    Handoff.objects.filter(pk=handoff.pk).update(check_attempts=3)
    verification.drain()
    handoff.refresh_from_db()
    assert (handoff.state, handoff.reasons, handoff.finding_codes) == (
        "flagged",
        ["findings", "check_failure"],
        ["SYS-02"],
    )
    assert not CheckRun.objects.get(handoff=handoff).complete


def test_a_document_that_cannot_even_be_read_waits_for_two_people_and_keeps_nobody_waiting(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = characters.orchestrator()
    broken, other = (characters.post(owner, characters.document()) for _ in range(2))
    Handoff.objects.filter(pk__in=[broken.pk, other.pk]).update(check_attempts=3)
    body = current_body(handoff=broken)

    def read(given: bytes) -> Submission:
        if given == body:
            raise ValueError("nobody can read this")
        return reread(given)

    monkeypatch.setattr(verdict, "reread", read)
    with capture_logs() as lines:
        verification.drain()
    assert "verdict.unreadable" in {line["event"] for line in lines}
    for handoff, risk, approvals in ((broken, "high", 2), (other, "medium", 1)):
        handoff.refresh_from_db()
        assert (handoff.state, handoff.finding_codes) == ("flagged", ["SYS-02"])
        assert (handoff.risk, handoff.approvals_required) == (risk, approvals)


def test_one_that_cannot_be_given_up_does_not_keep_the_next_from_it(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = characters.orchestrator()
    broken, other = (characters.post(owner, characters.document()) for _ in range(2))
    Handoff.objects.filter(pk__in=[broken.pk, other.pk]).update(check_attempts=3)
    real = verdict.exhausted

    def exhausted(handoff: Handoff, *rest: Any) -> Judged:
        if handoff.pk == broken.pk:
            raise ValueError("this row is broken")
        return real(handoff, *rest)

    monkeypatch.setattr(verification, "exhausted", exhausted)
    assert characters.judged(owner, characters.document()).state == "cleared"
    assert Handoff.objects.get(pk=other.pk).finding_codes == ["SYS-02"]
    assert Handoff.objects.get(pk=broken.pk).state == "received"
    monkeypatch.undo()
    verification.drain()
    assert Handoff.objects.get(pk=broken.pk).finding_codes == ["SYS-02"]


def test_new_rows_do_not_keep_back_one_that_was_tried_before(db: None, settings: Any) -> None:
    settings.DRAIN_BATCH = 1
    owner = characters.orchestrator()
    verification.drain()
    tried, *fresh = (characters.post(owner, characters.document()) for _ in range(5))
    Handoff.objects.filter(pk=tried.pk).update(check_attempts=1)
    assert verification.drain() == 5
    judged = Handoff.objects.filter(pk__in=[tried.pk, *(row.pk for row in fresh)]).order_by("checked_at")
    assert [row.pk for row in judged].index(tried.pk) == 1


def test_a_policy_that_cannot_be_read_flags_everything(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "active", lambda **_: 1 / 0)
    handoff = characters.judged(characters.orchestrator(), characters.document())
    assert (handoff.state, handoff.finding_codes) == ("flagged", ["SYS-03"])
