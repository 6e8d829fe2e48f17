"""For each code of the family `engine`, what only looks like its fault."""

from __future__ import annotations

from typing import NamedTuple

from tests.checks.engine_cases import ASKED, DONE, PENDING, REFERENCE, SNAPSHOT, UNKNOWN_B, Base
from tests.checks.engine_documents import (
    DROP,
    Changes,
    final,
    message,
    mid_batch,
    policy,
    request,
    result,
    unknown_model,
)


class NearMiss(NamedTuple):
    code: str
    base: Base
    changes: Changes


NEAR_MISSES = (
    NearMiss("EC-01", mid_batch, {"/inputs": DROP, "/metadata": None, "/parentRunId": None}),
    NearMiss("EC-01", mid_batch, {"/pendingModelResponse/output": {"any": ["thing", 1.5]}}),
    NearMiss("EC-02", mid_batch, {"/turnId": "0"}),
    NearMiss("EC-03", mid_batch, {"/lastSequence": 1}),
    NearMiss("EC-03", mid_batch, {"/delegationDepth": 2**31 - 1, "/parentRunId": "r0"}),
    NearMiss("EC-04", mid_batch, {"/lastSequence": 2**53 - 1}),
    NearMiss("EC-05", mid_batch, {"/messages/0/role": "developer"}),
    NearMiss("EC-06", mid_batch, {"/parentRunId": "r0", "/delegationDepth": 1}),
    NearMiss("EC-06", mid_batch, {"/parentRunId": ""}),
    NearMiss("EC-07", mid_batch, {"/delegationDepth": 2, "/parentRunId": "r0"}),
    NearMiss("EC-08", mid_batch, {"/parentRunId": "r1x", "/delegationDepth": 1}),
    NearMiss("EC-09", mid_batch, {"/stablePrefixMessages": 2}),
    NearMiss("EC-10", mid_batch, {"/messages/1": DROP}),
    NearMiss("EC-11", mid_batch, {"/contextState/delegatedState": DROP}),
    NearMiss(
        "EC-11", mid_batch, {"/contextState": {"portability": "delegated", "delegatedState": [REFERENCE]}}
    ),
    NearMiss(
        "EC-12", mid_batch, {"/contextState": {"portability": "delegated", "delegatedState": [REFERENCE]}}
    ),
    NearMiss("EC-12", mid_batch, {"/contextState": {"portability": "opaque"}}),
    NearMiss("EC-12", mid_batch, {"/contextState": {"portability": "delegated", "delegatedState": "resp_1"}}),
    NearMiss("EC-13", mid_batch, {"/contextState": {"portability": "portable"}}),
    NearMiss("EC-14", mid_batch, {f"{DONE}/-": result("call_0", "check_stock")}),
    NearMiss("EC-15", mid_batch, {f"{PENDING}/-": request("call_B", "book_van")}),
    NearMiss("EC-16", mid_batch, {f"{DONE}/-": result("call_A", "check_stock")}),
    NearMiss("EC-17", mid_batch, {**UNKNOWN_B, "/reconciliationRequired": True}),
    NearMiss("EC-18", mid_batch, {**UNKNOWN_B, "/reconciliationRequired": True}),
    NearMiss("EC-18", unknown_model, {}),
    # What cannot be read may be the unknown outcome: EC-05 speaks, and nothing is concluded.
    NearMiss("EC-18", mid_batch, {"/reconciliationRequired": True, f"{DONE}/0/outcome": "maybe"}),
    NearMiss("EC-19", unknown_model, {f"{DONE}/-": result("c0", "check_stock")}),
    NearMiss("EC-20", mid_batch, {"/modelReconciliation": None}),
    NearMiss("EC-21", unknown_model, {}),
    NearMiss("EC-21", unknown_model, {"/modelReconciliation/invocationId": 7}),
    NearMiss("EC-22", unknown_model, {f"{SNAPSHOT}/id": "context:inv_9"}),
    NearMiss("EC-23", unknown_model, {f"{SNAPSHOT}/sessionId": DROP}),
    NearMiss("EC-24", unknown_model, {f"{SNAPSHOT}/iteration": 0}),
    NearMiss("EC-25", unknown_model, {f"{SNAPSHOT}/stablePrefixMessages": 2}),
    NearMiss("EC-26", unknown_model, {f"{SNAPSHOT}/decisions/1/candidateId": "M1"}),
    NearMiss("EC-27", unknown_model, {f"{SNAPSHOT}/decisions/1/rank": None}),
    NearMiss("EC-28", unknown_model, {"/modelReconciliation/failedAttempt": 3}),
    NearMiss("EC-29", final, {PENDING: None}),
    NearMiss("EC-30", final, {"/pendingModelResponse": {"output": "text", "toolRequests": []}}),
    NearMiss("EC-31", unknown_model, {}),
    NearMiss("EC-32", final, {"/pendingOutput": ""}),
    NearMiss("EC-33", mid_batch, {"/pendingOutput": None}),
    NearMiss("EC-34", policy, {}),
    NearMiss("EC-35", mid_batch, {"/pendingModelResponse": DROP}),
    NearMiss("EC-36", mid_batch, {PENDING: [], f"{DONE}/-": result("call_b", "book_van")}),
    # A pending entry without an id may be the one: EC-01 speaks, and nothing is called lost.
    NearMiss("EC-36", mid_batch, {f"{PENDING}/0/id": DROP}),
    NearMiss("EC-36", mid_batch, {PENDING: "call_b"}),
    NearMiss("EC-37", mid_batch, {f"{DONE}/0": result("call_0", "greet"), f"{ASKED}/0": DROP}),
    # Results of earlier rounds stand before those of this one.
    NearMiss("EC-37", mid_batch, {DONE: [result("call_0", "greet"), result("call_a", "check_stock")]}),
    NearMiss("EC-38", mid_batch, {f"{DONE}/-": result("call_0", "greet")}),
    NearMiss("EC-39", mid_batch, {f"{PENDING}/0/arguments": '{ "stops": 1.0, "day": "Friday" }'}),
    NearMiss("EC-39", mid_batch, {f"{PENDING}/0/arguments": {}, f"{ASKED}/1/arguments": DROP}),
    NearMiss("EC-40", final, {"/pendingModelResponse": None}),
    NearMiss("EC-41", mid_batch, {f"{DONE}/0/errorKind": None}),
    NearMiss("EC-42", mid_batch, {f"{DONE}/0/outcome": "failed", f"{DONE}/0/errorKind": "permission_denied"}),
    NearMiss("EC-43", policy, {"/iteration": 1, "/completedModelIterations": 1}),
    NearMiss("EC-44", policy, {}),
    NearMiss("EC-45", unknown_model, {"/iteration": 1, "/completedModelIterations": 1}),
    NearMiss("EC-46", policy, {}),
    NearMiss("EC-47", policy, {"/policyAppliedForIteration": False}),
    NearMiss("EC-48", mid_batch, {"/messages/-": message("tool", "40", tool_call_id="call_a")}),
    NearMiss("EC-48", mid_batch, {"/messages/-": message("assistant", "call_b is next")}),
    NearMiss("EC-49", final, {"/messages/-": message("tool", "41", tool_call_id="c2")}),
    NearMiss("EC-50", mid_batch, {**UNKNOWN_B, "/reconciliationRequired": True}),
    NearMiss(
        "EC-50",
        mid_batch,
        {
            **UNKNOWN_B,
            "/pendingModelResponse": DROP,
            "/reconciliationRequired": True,
            "/messages/-": message("tool", "unknown", tool_call_id="call_b"),
        },
    ),
    NearMiss(
        "EC-51",
        mid_batch,
        {"/pendingModelResponse/usage": {"inputTokens": 10, "outputTokens": 2, "totalTokens": 10}},
    ),
    NearMiss("EC-52", mid_batch, {"/messages/1/metadata": {"note": None}}),
    NearMiss(
        "EC-53",
        mid_batch,
        {
            "/messages/1/parts/-": {
                "kind": "image",
                "source": "https://files.example/" + "rose/" * 400 + "1.png",
            }
        },
    ),
    NearMiss(
        "EC-53", mid_batch, {"/messages/1/parts/0/value": "A data: URL begins with data:image/png;base64,"}
    ),
    NearMiss("EC-53", mid_batch, {"/messages/1/parts/-": {"kind": "image", "source": 7}}),
    NearMiss(
        "EC-54",
        mid_batch,
        {
            "/contextState": {"portability": "delegated", "delegatedState": [REFERENCE]},
            "/pendingModelResponse/nextContextState": {
                "portability": "delegated",
                "delegatedState": [{**REFERENCE, "metadata": {}}],
            },
        },
    ),
    NearMiss(
        "EC-54",
        mid_batch,
        {
            "/contextState": {"portability": "delegated", "delegatedState": [REFERENCE]},
            "/pendingModelResponse/nextContextState": {"portability": "delegated"},
        },
    ),
    NearMiss("EC-55", mid_batch, {"/metadata": {"surprise": 1}}),
    NearMiss(
        "EC-55", mid_batch, {"/checkpoint_id": "cp-9", "/target_role": "driver", "/source": {"run_url": "x"}}
    ),
)
