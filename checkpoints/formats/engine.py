"""`prompty.engine/1`: the EngineCheckpoint of Prompty's turn engine."""

from __future__ import annotations

from typing import Final

from checkpoints.formats.form import Format
from checkpoints.formats.outer import with_envelope
from checkpoints.formats.reading import integer, mapping, mappings, sequence, strings, text
from checkpoints.types import Facts, JSONObject

MEMBERS: Final = (
    "id",
    "sessionId",
    "turnId",
    "runId",
    "parentRunId",
    "delegationDepth",
    "iteration",
    "lastSequence",
    "messages",
    "stablePrefixMessages",
    "inputs",
    "activeInvocationId",
    "pendingToolRequests",
    "completedToolResults",
    "completedModelIterations",
    "reconciliationRequired",
    "modelReconciliation",
    "pendingOutput",
    "finalOutputReady",
    "pendingModelResponse",
    "resumeSameIteration",
    "policyAppliedForIteration",
    "contextState",
    "metadata",
)

MARKS: Final = (
    "runId",
    "turnId",
    "contextState",
    "lastSequence",
    "stablePrefixMessages",
    "pendingToolRequests",
)
"""Two of these in a document without `format` make it an EngineCheckpoint (contract §3)."""

PROTECTED: Final = (
    "/id",
    "/sessionId",
    "/turnId",
    "/runId",
    "/parentRunId",
    "/lastSequence",
    "/completedToolResults",
    "/session_id",
    "/checkpoint_id",
    "/handoff_sequence",
    "/previous_checkpoint_id",
    "/agent_id",
    "/agent_role",
    "/task_id",
    "/produced_at",
    "/context_fingerprint",
    "/idempotency_key",
)


def read(payload: JSONObject, envelope: JSONObject) -> Facts:
    """Facts of an EngineCheckpoint. Role, target and task are the envelope's: the engine knows none."""
    results = [result for _, result in mappings(payload, "completedToolResults")]
    pending = [request for _, request in mappings(payload, "pendingToolRequests")]
    committed = strings(
        result.get("requestId") for result in results if result.get("outcome") in ("success", "failed")
    )
    unknown = strings(
        result.get("requestId") for result in results if result.get("outcome") == "indeterminate"
    )
    facts = Facts(
        source_id=text(payload, "id"),
        agent_id=text(payload, "runId"),
        task_status=_status(payload),
        run_id=text(payload, "runId"),
        turn_id=text(payload, "turnId"),
        parent_run_id=text(payload, "parentRunId"),
        delegation_depth=integer(payload, "delegationDepth"),
        completed_step_ids=committed,
        call_ids=strings(result.get("requestId") for result in results),
        tool_names=strings(call.get("name") for call in (*pending, *results)),
        user_intent=_last_user_text(payload),
        reconciliation_required=payload.get("reconciliationRequired") is True,
        already_committed=committed,
        needs_reconciliation=unknown or _unknown_model_call(payload),
    )
    return with_envelope(facts, payload, envelope)


def resume_effect(document: JSONObject) -> str:
    """What a resume would do: `blocked`, `commit_output`, `same_iteration` or `next_iteration`.

    `document` is the EngineCheckpoint itself. The order is the engine's: a blocked turn stops at once, a final
    output is committed without calling the model.
    """
    if document.get("reconciliationRequired") is True:
        return "blocked"
    if document.get("finalOutputReady") is True:
        return "commit_output"
    if document.get("resumeSameIteration") is True:
        return "same_iteration"
    if sequence(document, "pendingToolRequests") or document.get("pendingModelResponse") is not None:
        return "same_iteration"
    return "next_iteration"


def _status(payload: JSONObject) -> str:
    if payload.get("reconciliationRequired") is True:
        return "blocked"
    return "completed" if payload.get("finalOutputReady") is True else "in_progress"


def _unknown_model_call(payload: JSONObject) -> tuple[str, ...]:
    invocation = text(mapping(payload, "modelReconciliation"), "invocationId")
    return (invocation,) if invocation else ()


def _last_user_text(payload: JSONObject) -> str | None:
    for _, message in reversed(mappings(payload, "messages")):
        if message.get("role") == "user":
            for _, part in mappings(message, "parts"):
                if found := text(part, "value"):
                    return found
    return None


FORMAT: Final = Format(
    name="prompty.engine/1",
    title="Prompty engine checkpoint",
    read=read,
    members=MEMBERS,
    approve_means="The host may resume the turn from this checkpoint.",
    protected=PROTECTED,
    session_member="sessionId",
    unknown_member_code="EC-55",
)
