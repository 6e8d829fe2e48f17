"""Returns that were promised and did not come (HC-79). Found by the sweep, after the handoff itself is over."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import structlog
from django.db import DatabaseError, transaction

from checkpoints.checks.sequence import missing_return
from checkpoints.faults import fault
from checkpoints.models import CheckRun, Handoff
from checkpoints.policies import found_later
from checkpoints.services import audit
from checkpoints.services.attempts import SWEEPER
from checkpoints.services.clock import now
from checkpoints.services.policy import rules_of
from checkpoints.services.transition import announce, facts, lock, write
from checkpoints.services.verdict import finding_json, title_of
from checkpoints.types import Finding, State, rfc3339

log = structlog.get_logger("checkpoints.returns")


def note_missing_returns(*, limit: int = 500) -> int:
    """Add HC-79 to acknowledged handoffs whose return is overdue. Safe to run twice at once. Returns how many."""
    due = Handoff.objects.filter(return_by__lte=now()).order_by("return_by")
    count = 0
    for handoff_id in list(due.values_list("pk", flat=True)[:limit]):
        try:
            count += note_missing_return(handoff_id=handoff_id)
        except DatabaseError:  # one row that is held or broken must not keep the others waiting
            log.exception("sweep.row_failed", handoff_id=str(handoff_id))
    return count


def note_missing_return(*, handoff_id: UUID) -> bool:
    """Look once for the return of one handoff. True where none came in time and the finding was added."""
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        deadline = handoff.return_by
        if deadline is None or at < deadline:
            return False
        handoff.return_by = None
        missing = handoff.state == State.ACKNOWLEDGED.value and not _came_back(handoff, deadline)
        finding = _finding(handoff, deadline) if missing else None
        if finding:
            _add(handoff, finding, deadline, at)
        write(handoffs=[(handoff, at)])
        announce(handoff_ids=[handoff.pk])
        fault("return.before_commit")
    fault("return.after_commit")
    return finding is not None


def _came_back(handoff: Handoff, deadline: datetime) -> bool:
    """A later handoff of the session, received in time, from the receiving role to the sending one.

    A rejected one counts: it came. Where a role has no name, nobody can tell, and nothing is claimed.
    """
    if not handoff.agent_role or not handoff.target_role:
        return True
    return Handoff.objects.filter(
        session_id=handoff.session_id,
        handoff_sequence__gt=handoff.handoff_sequence,
        agent_role=handoff.target_role,
        target_role=handoff.agent_role,
        received_at__lte=deadline,
    ).exists()


def _finding(handoff: Handoff, deadline: datetime) -> Finding | None:
    hit = missing_return(target_role=handoff.target_role or "the receiver", deadline=rfc3339(deadline))
    return found_later(hit, rules_of(version=handoff.policy_version))


def _add(handoff: Handoff, finding: Finding, deadline: datetime, at: datetime) -> None:
    """A check run like the last one with one finding more: what was found before stays as it was written."""
    run = CheckRun.objects.filter(handoff=handoff, revision=handoff.revision).order_by("-finished_at")[0]
    CheckRun.objects.create(
        **{
            field.attname: getattr(run, field.attname)
            for field in CheckRun._meta.concrete_fields
            if not field.primary_key
        }
        | {"started_at": at, "finished_at": at, "findings": [*run.findings, finding_json(finding)]}
    )
    if not handoff.finding_codes:
        handoff.first_finding = title_of(finding)
    handoff.finding_codes = sorted({*handoff.finding_codes, finding.code})
    handoff.finding_count += 1
    handoff.severity = max(handoff.severity, finding.severity.rank)
    audit.record(
        audit.Entry(
            action="handoff.return_missed",
            actor=SWEEPER,
            subject=("handoff", str(handoff.pk)),
            at=at,
            reason=finding.message,
            after={
                "state": handoff.state,
                **facts(handoff),
                "return_by": rfc3339(deadline),
                "finding": finding.code,
            },
            policy_version=handoff.policy_version,
        )
    )
