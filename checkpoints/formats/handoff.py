"""`handoff/1`: the handoff document in both vocabularies."""

from __future__ import annotations

from typing import Final

from checkpoints.formats.form import Format
from checkpoints.formats.reading import (
    decisions,
    folded_risk,
    instant,
    issues,
    mappings,
    sequence,
    strings,
)
from checkpoints.formats.vocabulary import folded_status, received, received_all
from checkpoints.types import Facts, JSONObject, JSONValue, Risk

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
        found = received(payload, envelope, member)
        return found.value if found else None

    def word(member: str) -> str | None:
        found = value(member)
        return found if isinstance(found, str) and found else None

    steps = received(payload, envelope, "completed_steps")
    step_ids = strings(step.get("step_id") for _, step in mappings({"steps": steps and steps.value}, "steps"))
    outputs = [output for _, output in mappings(payload, "tool_outputs")]
    call_ids = strings(output.get("call_id") for output in outputs)
    reported = received(payload, envelope, "reported_issues")
    return Facts(
        agent_id=word("agent_id"),
        agent_role=word("agent_role"),
        target_role=word("target_role"),
        task_id=word("task_id"),
        task_status=folded_status(value("task_status")),
        risk_level=_highest_risk(payload, envelope),
        human_approval_required=_anywhere_true(payload, envelope, "human_approval_required"),
        handoff_reason=word("handoff_reason"),
        user_intent=word("user_intent"),
        produced_at=instant(value("produced_at")),
        sender_ticket_reference=word("approval_ticket_reference"),
        idempotency_key=word("idempotency_key"),
        max_retries=_retries(value("max_retries")),
        attempt=_retries(value("attempt")),
        rollback_notes=word("rollback_notes"),
        expected_return=value("expected_return") is True,
        claimed_hash=word("consistency_hash"),
        claimed_fingerprint=word("context_fingerprint"),
        completed_step_ids=step_ids,
        call_ids=call_ids,
        tool_names=strings(output.get("tool_name") for output in outputs),
        constraints=strings(sequence(payload, "active_constraints")),
        pending_decisions=decisions(payload, "pending_decisions", "/pending_decisions"),
        already_committed=strings((*call_ids, *step_ids)),
        reported_issues=issues({"issues": reported.value}, "issues", reported.pointer) if reported else (),
    )


def _highest_risk(payload: JSONObject, envelope: JSONObject) -> Risk | None:
    """Where envelope and payload differ the higher one counts: nobody is spared a person by contradicting itself."""
    risks = [folded_risk(found.value) for found in received_all(payload, envelope, "risk_level")]
    return max((risk for risk in risks if risk), key=lambda risk: risk.rank, default=None)


def _anywhere_true(payload: JSONObject, envelope: JSONObject, member: str) -> bool:
    return any(found.value is True for found in received_all(payload, envelope, member))


def _retries(value: JSONValue) -> int | None:
    return value if type(value) is int and value >= 0 else None


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
