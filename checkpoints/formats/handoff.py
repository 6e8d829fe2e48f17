"""`handoff/1`: the handoff document in both vocabularies."""

from __future__ import annotations

from typing import Final

from checkpoints.formats.form import Format
from checkpoints.formats.reading import (
    decisions,
    folded_risk,
    instant,
    issues,
    natural,
    sequence,
    strings,
)
from checkpoints.formats.vocabulary import folded_status, received, value_of
from checkpoints.types import Facts, JSONObject, JSONValue, ReportedIssue, Risk

MEMBERS: Final = (
    "checkpoint_id",
    "session_id",
    "handoff_sequence",
    "agent_id",
    "agent_instance_id",
    "agent_role",
    "timestamp",
    "task_id",
    "task_status",
    "task_state",
    "completed_steps",
    "in_progress_step",
    "pending_decisions",
    "active_constraints",
    "tool_outputs",
    "context_snapshot",
    "context_reference",
    "handoff_target",
    "recovery_instructions",
    "risk_level",
    "human_approval_required",
    "approval_ticket_reference",
    "context_fingerprint",
    "consistency_hash",
    "reported_issues",
    "consistency_issues",
)

REQUIRED: Final = (
    "agent_role",
    "agent_id",
    "task_id",
    "task_status",
    "completed_steps",
    "pending_decisions",
    "active_constraints",
    "context_snapshot",
    "context_fingerprint",
    "consistency_hash",
    "target_role",
    "produced_at",
)
"""The logical members of HC-01 (contract §3); `context_reference` with a fingerprint serves for the snapshot."""

PROTECTED: Final = (
    "/checkpoint_id",
    "/session_id",
    "/handoff_sequence",
    "/previous_checkpoint_id",
    "/attempt",
    "/agent_id",
    "/agent_instance_id",
    "/agent_role",
    "/timestamp",
    "/produced_at",
    "/task_id",
    "/context_fingerprint",
    "/consistency_hash",
    "/idempotency_key",
    "/recovery_instructions/idempotency_key",
)


def read(payload: JSONObject, envelope: JSONObject) -> Facts:
    """Facts of a handoff document."""

    def value(member: str) -> JSONValue:
        return value_of(payload, envelope, member)

    def word(member: str) -> str | None:
        found = value_of(payload, envelope, member)
        return found if isinstance(found, str) and found else None

    step_ids = _texts(value("completed_steps"), "step_id")
    outputs = payload.get("tool_outputs")
    call_ids = _texts(outputs, "call_id")
    return Facts(
        agent_id=word("agent_id"),
        agent_role=word("agent_role"),
        target_role=word("target_role"),
        task_id=word("task_id"),
        task_status=folded_status(value("task_status")),
        risk_level=_highest_risk(payload, envelope),
        human_approval_required=any(
            holder.get("human_approval_required") is True for holder in (payload, envelope)
        ),
        handoff_reason=word("handoff_reason"),
        user_intent=word("user_intent"),
        produced_at=instant(value("produced_at")),
        sender_ticket_reference=word("approval_ticket_reference"),
        idempotency_key=word("idempotency_key"),
        max_retries=natural(value("max_retries")),
        attempt=natural(value("attempt")),
        rollback_notes=word("rollback_notes"),
        expected_return=value("expected_return") is True,
        claimed_hash=word("consistency_hash"),
        claimed_fingerprint=word("context_fingerprint"),
        completed_step_ids=step_ids,
        call_ids=call_ids,
        tool_names=_texts(outputs, "tool_name"),
        constraints=strings(sequence(payload, "active_constraints")),
        pending_decisions=decisions(payload, "pending_decisions", "/pending_decisions"),
        already_committed=strings((*call_ids, *step_ids)),
        reported_issues=_reported(payload, envelope),
    )


def _texts(items: JSONValue, name: str) -> tuple[str, ...]:
    """One member of each object of a list, where it is a non-empty string."""
    return (
        strings(item.get(name) for item in items if isinstance(item, dict)) if isinstance(items, list) else ()
    )


def _highest_risk(payload: JSONObject, envelope: JSONObject) -> Risk | None:
    """Where envelope and payload differ the higher one counts: a contradiction spares nobody a person."""
    risks = [folded_risk(holder.get("risk_level")) for holder in (payload, envelope)]
    return max((risk for risk in risks if risk), key=lambda risk: risk.rank, default=None)


def _reported(payload: JSONObject, envelope: JSONObject) -> tuple[ReportedIssue, ...]:
    found = received(payload, envelope, "reported_issues")
    return issues({"issues": found.value}, "issues", found.pointer) if found else ()


FORMAT: Final = Format(
    name="handoff/1",
    title="Handoff checkpoint",
    read=read,
    members=MEMBERS,
    approve_means="The orchestrator may dispatch this handoff, with exactly this content, to the target role.",
    protected=PROTECTED,
    names_itself=True,
    unknown_member_code="HC-06",
)
