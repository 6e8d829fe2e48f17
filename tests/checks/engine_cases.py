"""A failing change for each code of the family `engine`; the near misses stand beside."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.checks.engine_documents import (
    DROP,
    Changes,
    Document,
    final,
    message,
    mid_batch,
    policy,
    request,
    result,
    unknown_model,
)

type Base = Callable[[], Document]

PENDING = "/pendingToolRequests"
DONE = "/completedToolResults"
ASKED = "/pendingModelResponse/toolRequests"
SNAPSHOT = "/modelReconciliation/request/context"
REFERENCE = {"provider": "acme", "kind": "response", "id": "resp_1"}
A_PICTURE = {"kind": "image", "source": "data:image/png;base64," + "iVBORw0KGgo" * 455}
UNKNOWN_B = {
    f"{PENDING}/0": DROP,
    f"{DONE}/-": result("call_b", "book_van", "indeterminate", errorKind="effect_outcome_unknown"),
}


class Case(NamedTuple):
    """`also` are further codes that the same change truly shows."""

    code: str
    base: Base
    changes: Changes
    severity: str
    pointer: str
    also: tuple[str, ...] = ()


FAILING = (
    Case("EC-01", mid_batch, {"/iteration": DROP}, "high", "/iteration"),
    Case("EC-01", mid_batch, {"/contextState": None}, "high", "/contextState"),
    Case("EC-01", mid_batch, {"/finalOutputReady": "false"}, "high", "/finalOutputReady"),
    Case("EC-01", mid_batch, {"/iteration": True}, "high", "/iteration"),
    Case("EC-01", mid_batch, {"/iteration": 1.0}, "high", "/iteration"),
    Case("EC-01", mid_batch, {"/lastSequence": "nine"}, "high", "/lastSequence"),
    Case("EC-01", mid_batch, {"/messages": {"first": {}}}, "high", "/messages"),
    Case("EC-01", mid_batch, {f"{PENDING}/0/name": DROP}, "high", f"{PENDING}/0/name"),
    Case("EC-01", mid_batch, {"/messages/1/parts/0/value": DROP}, "high", "/messages/1/parts/0/value"),
    Case("EC-01", unknown_model, {f"{SNAPSHOT}/decisions/0": "m1"}, "high", f"{SNAPSHOT}/decisions/0"),
    Case("EC-02", mid_batch, {"/turnId": ""}, "high", "/turnId"),
    Case("EC-02", mid_batch, {"/runId": " "}, "high", "/runId"),
    Case("EC-03", mid_batch, {"/delegationDepth": -1}, "high", "/delegationDepth"),
    Case("EC-03", mid_batch, {"/stablePrefixMessages": 2**31}, "high", "/stablePrefixMessages", ("EC-09",)),
    Case("EC-03", mid_batch, {"/lastSequence": 0}, "high", "/lastSequence"),
    Case("EC-03", mid_batch, {"/lastSequence": str(2**63)}, "high", "/lastSequence", ("EC-04",)),
    Case("EC-04", mid_batch, {"/lastSequence": "9"}, "medium", "/lastSequence"),
    Case(
        "EC-04",
        mid_batch,
        {"/pendingModelResponse/usage/inputTokens": "50"},
        "medium",
        "/pendingModelResponse/usage/inputTokens",
    ),
    Case("EC-05", mid_batch, {f"{DONE}/0/outcome": "maybe"}, "high", f"{DONE}/0/outcome"),
    Case("EC-05", mid_batch, {"/messages/0/role": "robot"}, "high", "/messages/0/role"),
    Case("EC-05", mid_batch, {"/messages/0/parts/0/kind": "video"}, "high", "/messages/0/parts/0/kind"),
    Case("EC-05", mid_batch, {"/contextState/portability": "local"}, "high", "/contextState/portability"),
    Case(
        "EC-05",
        unknown_model,
        {f"{SNAPSHOT}/decisions/1/disposition": "dropped"},
        "high",
        f"{SNAPSHOT}/decisions/1/disposition",
    ),
    Case("EC-06", mid_batch, {"/parentRunId": "r0"}, "high", "/delegationDepth"),
    Case("EC-07", mid_batch, {"/delegationDepth": 2}, "high", "/parentRunId"),
    Case("EC-08", mid_batch, {"/parentRunId": "r1", "/delegationDepth": 1}, "high", "/parentRunId"),
    Case("EC-09", mid_batch, {"/stablePrefixMessages": 3}, "high", "/stablePrefixMessages"),
    Case(
        "EC-10",
        final,
        {"/messages": [], "/stablePrefixMessages": 0},
        "medium",
        "/messages",
    ),
    Case("EC-10", mid_batch, {"/messages": [], "/stablePrefixMessages": 0}, "low", "/messages"),
    Case(
        "EC-11",
        mid_batch,
        {"/contextState/delegatedState": [REFERENCE]},
        "high",
        "/contextState/delegatedState",
    ),
    Case(
        "EC-11",
        unknown_model,
        {f"{SNAPSHOT}/contextState/delegatedState": [REFERENCE]},
        "high",
        f"{SNAPSHOT}/contextState/delegatedState",
    ),
    Case(
        "EC-12",
        mid_batch,
        {"/contextState/portability": "delegated"},
        "high",
        "/contextState/delegatedState",
        ("EC-13",),
    ),
    Case("EC-13", mid_batch, {"/contextState/portability": "opaque"}, "low", "/contextState/portability"),
    Case(
        "EC-14",
        mid_batch,
        {f"{PENDING}/0": request("call_a", "check_stock", flower="rose"), f"{ASKED}/1": DROP},
        "high",
        f"{PENDING}/0/id",
    ),
    Case(
        "EC-15", mid_batch, {f"{PENDING}/-": mid_batch()["pendingToolRequests"][0]}, "high", f"{PENDING}/1/id"
    ),
    Case(
        "EC-15",
        mid_batch,
        {f"{ASKED}/-": request("call_a", "check_stock", flower="rose")},
        "high",
        f"{ASKED}/2/id",
    ),
    Case(
        "EC-16",
        mid_batch,
        {f"{DONE}/-": result("call_a", "check_stock", "failed", errorKind="tool_error")},
        "high",
        f"{DONE}/1/requestId",
    ),
    Case("EC-17", mid_batch, UNKNOWN_B, "high", "/reconciliationRequired"),
    Case("EC-18", mid_batch, {"/reconciliationRequired": True}, "high", "/reconciliationRequired"),
    Case(
        "EC-19",
        unknown_model,
        {
            f"{DONE}/-": result("c0", "check_stock", "indeterminate", errorKind="effect_outcome_unknown"),
            "/messages/-": message("tool", "unknown", tool_call_id="c0"),
        },
        "high",
        "/modelReconciliation",
    ),
    Case("EC-20", unknown_model, {"/reconciliationRequired": False}, "high", "/reconciliationRequired"),
    Case(
        "EC-21", unknown_model, {"/activeInvocationId": "inv_2"}, "high", "/modelReconciliation/invocationId"
    ),
    Case("EC-22", unknown_model, {f"{SNAPSHOT}/invocationId": "inv_9"}, "high", f"{SNAPSHOT}/invocationId"),
    Case("EC-23", unknown_model, {f"{SNAPSHOT}/sessionId": "s2"}, "high", f"{SNAPSHOT}/sessionId"),
    Case("EC-23", unknown_model, {f"{SNAPSHOT}/turnId": "t2"}, "high", f"{SNAPSHOT}/turnId"),
    Case("EC-24", unknown_model, {f"{SNAPSHOT}/iteration": 4}, "high", f"{SNAPSHOT}/iteration"),
    Case(
        "EC-25",
        unknown_model,
        {f"{SNAPSHOT}/stablePrefixMessages": 8},
        "high",
        f"{SNAPSHOT}/stablePrefixMessages",
    ),
    Case(
        "EC-26",
        unknown_model,
        {f"{SNAPSHOT}/decisions/1/candidateId": "m1"},
        "medium",
        f"{SNAPSHOT}/decisions/1/candidateId",
    ),
    Case("EC-27", unknown_model, {f"{SNAPSHOT}/decisions/1/rank": 0}, "low", f"{SNAPSHOT}/decisions/1/rank"),
    Case(
        "EC-28",
        unknown_model,
        {"/modelReconciliation/failedAttempt": -1},
        "medium",
        "/modelReconciliation/failedAttempt",
    ),
    Case(
        "EC-28", unknown_model, {"/modelReconciliation/message": ""}, "medium", "/modelReconciliation/message"
    ),
    Case(
        "EC-29",
        final,
        {f"{PENDING}/-": request("c2", "book_van")},
        "high",
        "/finalOutputReady",
        ("EC-40",),
    ),
    Case(
        "EC-30",
        final,
        {"/pendingModelResponse": {"toolRequests": [request("c1", "check_stock")]}},
        "high",
        "/pendingModelResponse",
    ),
    Case("EC-31", final, {"/reconciliationRequired": True}, "high", "/finalOutputReady", ("EC-18",)),
    Case("EC-32", final, {"/pendingOutput": DROP}, "medium", "/pendingOutput"),
    Case("EC-33", mid_batch, {"/pendingOutput": "early"}, "medium", "/pendingOutput"),
    Case("EC-34", mid_batch, {"/activeInvocationId": DROP}, "high", "/activeInvocationId"),
    Case("EC-35", mid_batch, {f"{PENDING}/-": request("call_z", "refund")}, "high", f"{PENDING}/1/id"),
    Case("EC-36", mid_batch, {f"{PENDING}/0": DROP}, "high", f"{ASKED}/1/id"),
    Case(
        "EC-37",
        mid_batch,
        {
            f"{ASKED}/-": request("call_c", "write_card"),
            PENDING: [request("call_c", "write_card"), request("call_b", "book_van", day="Friday", stops=1)],
        },
        "medium",
        PENDING,
    ),
    Case(
        "EC-37",
        mid_batch,
        {
            PENDING: [],
            DONE: [result("call_b", "book_van"), result("call_a", "check_stock")],
        },
        "medium",
        DONE,
    ),
    Case(
        "EC-37",
        mid_batch,
        {
            PENDING: [request("call_a", "check_stock", flower="rose")],
            DONE: [result("call_b", "book_van")],
        },
        "medium",
        f"{DONE}/0",
    ),
    Case("EC-38", mid_batch, {f"{DONE}/0/name": "delete_stock"}, "high", f"{DONE}/0/name"),
    Case("EC-38", mid_batch, {f"{PENDING}/0/name": "book_plane"}, "high", f"{PENDING}/0/name"),
    Case("EC-39", mid_batch, {f"{PENDING}/0/arguments/stops": 9}, "high", f"{PENDING}/0/arguments"),
    Case("EC-39", mid_batch, {f"{PENDING}/0/arguments/stops": True}, "high", f"{PENDING}/0/arguments"),
    Case("EC-39", mid_batch, {f"{PENDING}/0/arguments": DROP}, "high", f"{PENDING}/0/arguments"),
    Case("EC-40", mid_batch, {"/pendingModelResponse": DROP}, "low", "/pendingModelResponse"),
    Case("EC-41", mid_batch, {f"{DONE}/0/errorKind": "timeout"}, "medium", f"{DONE}/0/errorKind"),
    Case("EC-42", mid_batch, {f"{DONE}/0/outcome": "failed"}, "low", f"{DONE}/0/errorKind"),
    Case("EC-43", mid_batch, {"/completedModelIterations": 5}, "medium", "/completedModelIterations"),
    Case("EC-43", policy, {"/iteration": 2}, "medium", "/completedModelIterations"),
    Case("EC-44", mid_batch, {"/completedModelIterations": 0}, "medium", "/completedModelIterations"),
    Case("EC-44", final, {"/completedModelIterations": 1}, "medium", "/completedModelIterations"),
    Case("EC-45", unknown_model, {"/completedModelIterations": 1}, "high", "/completedModelIterations"),
    Case("EC-46", policy, {"/completedModelIterations": 1}, "high", "/resumeSameIteration"),
    Case("EC-46", mid_batch, {"/resumeSameIteration": True}, "high", "/resumeSameIteration"),
    Case("EC-46", final, {"/resumeSameIteration": True}, "high", "/resumeSameIteration"),
    Case("EC-47", policy, {"/resumeSameIteration": False}, "high", "/policyAppliedForIteration"),
    Case(
        "EC-48",
        mid_batch,
        {"/messages/-": message("tool", "van 7", tool_call_id="call_b")},
        "high",
        "/messages/2/metadata/tool_call_id",
    ),
    Case(
        "EC-49",
        final,
        {"/messages/-": message("tool", "40", tool_call_id="c1")},
        "high",
        "/messages/5/metadata/tool_call_id",
    ),
    Case(
        "EC-50",
        mid_batch,
        {
            "/pendingModelResponse": DROP,
            "/reconciliationRequired": True,
            **UNKNOWN_B,
        },
        "medium",
        f"{DONE}/1/requestId",
    ),
    Case(
        "EC-51",
        mid_batch,
        {"/pendingModelResponse/usage": {"inputTokens": 10, "outputTokens": 2, "totalTokens": 3}},
        "low",
        "/pendingModelResponse/usage/totalTokens",
    ),
    Case(
        "EC-51",
        mid_batch,
        {"/pendingModelResponse/usage/outputTokens": -1},
        "low",
        "/pendingModelResponse/usage/outputTokens",
    ),
    Case("EC-52", mid_batch, {"/messages/1/metadata": DROP}, "low", "/messages/1/metadata"),
    Case("EC-53", mid_batch, {"/messages/1/parts/-": A_PICTURE}, "medium", "/messages/1/parts/1/source"),
    Case(
        "EC-53",
        mid_batch,
        {"/messages/1/parts/-": {"kind": "audio", "source": "UklGRiQAAABXQVZF" * 40}},
        "medium",
        "/messages/1/parts/1/source",
    ),
    Case(
        "EC-53",
        mid_batch,
        {"/messages/1/parts/0/value": f"see ![rose]({A_PICTURE['source']})"},
        "medium",
        "/messages/1/parts/0/value",
    ),
    Case(
        "EC-54",
        mid_batch,
        {
            "/pendingModelResponse/nextContextState": {
                "portability": "delegated",
                "delegatedState": [REFERENCE],
            }
        },
        "high",
        "/contextState",
    ),
    Case(
        "EC-54",
        mid_batch,
        {
            "/contextState": {"portability": "delegated", "delegatedState": [{**REFERENCE, "id": "resp_0"}]},
            "/pendingModelResponse/nextContextState": {
                "portability": "delegated",
                "delegatedState": [REFERENCE],
            },
        },
        "high",
        "/contextState",
        ("EC-13",),
    ),
    Case("EC-55", mid_batch, {"/surprise": 1}, "low", "/surprise"),
    Case("EC-55", mid_batch, {"/a~1b": 1}, "low", "/a~01b"),
)
