"""Facts that foreign formats do not hold and the envelope brings (or the flat document, beside its own members)."""

from __future__ import annotations

from dataclasses import replace

from checkpoints.formats.reading import folded_risk, instant, issues, natural, text
from checkpoints.types import Facts, JSONObject


def with_envelope(facts: Facts, payload: JSONObject, envelope: JSONObject) -> Facts:
    """The facts a format read from its own members, completed; what the envelope says itself counts before them."""
    outer = envelope or payload
    reported = "reported_issues" if "reported_issues" in outer else "consistency_issues"
    return replace(
        facts,
        agent_id=text(outer, "agent_id") or text(outer, "agent_instance_id") or facts.agent_id,
        agent_role=text(outer, "agent_role") or facts.agent_role,
        target_role=text(outer, "target_role") or facts.target_role,
        task_id=text(outer, "task_id") or facts.task_id,
        risk_level=folded_risk(outer.get("risk_level")),
        human_approval_required=outer.get("human_approval_required") is True,
        handoff_reason=text(outer, "handoff_reason") or facts.handoff_reason,
        produced_at=instant(outer.get("produced_at")) or facts.produced_at,
        sender_ticket_reference=text(outer, "approval_ticket_reference"),
        idempotency_key=text(outer, "idempotency_key") or facts.idempotency_key,
        max_retries=natural(outer.get("max_retries")),
        attempt=natural(outer.get("attempt")),
        claimed_hash=text(outer, "consistency_hash"),
        claimed_fingerprint=text(outer, "context_fingerprint"),
        reported_issues=issues(outer, reported, f"/{reported}"),
    )
