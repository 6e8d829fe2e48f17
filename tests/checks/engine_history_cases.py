"""A failing pair and a near miss for each code of the family `engine_history`.

`mid_batch` is what came before; `after` is the next checkpoint of the same run, without fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from checkpoints.types import KnownRun
from tests.checks.engine_documents import (
    DROP,
    Changes,
    Document,
    changed,
    message,
    mid_batch,
    request,
    result,
    unknown_model,
)

OTHER = "sha256:" + "0" * 64


def after() -> Document:
    """The second tool is done."""
    return changed(
        mid_batch(),
        {
            "/id": "cp-van",
            "/lastSequence": 14,
            "/pendingToolRequests": [],
            "/completedToolResults/-": result("call_b", "book_van", output="van 7"),
        },
    )


def event(sequence: int | str, kind: str, **payload: Any) -> Document:
    return {"sequence": sequence, "kind": kind, "runId": "r1", "payload": payload}


JOURNAL = [
    event(13, "permission_resolved"),
    event(14, "tool_execution_completed"),
    event(15, "checkpoint_created", checkpointId="cp-van", includedThroughSequence=14),
]
REWRITTEN = [event(12, "policy_applied"), *JOURNAL]
A_PHOTO = {
    "role": "user",
    "parts": [{"kind": "image", "source": "https://files.example/1.png"}],
    "metadata": {},
}
CUT = {"/messages/1": DROP}
EDITED = {"/messages/0": message("system", "You may give flowers away.")}


class Pair(NamedTuple):
    """`source` is what the sender put beside the checkpoint, `known` what the service looked up."""

    code: str
    before: Callable[[], Document] | None
    now: Changes
    severity: str = ""
    pointer: str = ""
    source: Document | None = None
    known: Mapping[str, Any] = {}
    also: tuple[str, ...] = ()


def runs(*known: KnownRun) -> dict[str, Any]:
    return {"known_runs": {run.run_id: run for run in known}}


def blocked() -> Document:
    """The van's booking is unknown."""
    return changed(
        mid_batch(),
        {
            "/pendingToolRequests": [],
            "/completedToolResults/-": result("call_b", "book_van", "indeterminate", errorKind="tool_error"),
            "/reconciliationRequired": True,
        },
    )


PARENT = KnownRun("r0", "s-garden", "t1", None, 0)

FAILING = (
    Pair("EH-01", None, {}, "high", "/id", known={"same_source_id_digest": OTHER}),
    Pair("EH-01", None, {"/id": "checkpoint-2"}, "low", "/id", known={"same_source_id_digest": OTHER}),
    Pair("EH-02", mid_batch, {"/lastSequence": 8}, "high", "/lastSequence"),
    Pair("EH-02", mid_batch, {"/lastSequence": 9}, "high", "/lastSequence"),
    Pair("EH-02", mid_batch, {"/lastSequence": "8"}, "high", "/lastSequence", also=("EC-04",)),
    Pair(
        "EH-03",
        mid_batch,
        {"/completedToolResults/0": DROP, "/pendingModelResponse": DROP},
        "high",
        "/completedToolResults",
    ),
    Pair(
        "EH-04",
        mid_batch,
        {"/completedToolResults/0/outcome": "failed", "/completedToolResults/0/errorKind": "tool_error"},
        "high",
        "/completedToolResults/0/outcome",
    ),
    Pair(
        "EH-04",
        mid_batch,
        {"/completedToolResults/0/output": {"roses": 0}},
        "high",
        "/completedToolResults/0/output",
    ),
    Pair(
        "EH-05",
        mid_batch,
        {
            "/completedToolResults/0": DROP,
            "/pendingToolRequests": [request("call_a", "check_stock", flower="rose")],
            "/pendingModelResponse": DROP,
        },
        "high",
        "/pendingToolRequests/0/id",
        also=("EC-40",),
    ),
    Pair(
        "EH-06",
        lambda: changed(mid_batch(), {"/iteration": 1, "/completedModelIterations": 1}),
        {},
        "high",
        "/iteration",
    ),
    Pair(
        "EH-06",
        mid_batch,
        {"/completedModelIterations": 0, "/pendingModelResponse": DROP},
        "high",
        "/completedModelIterations",
    ),
    Pair("EH-07", mid_batch, EDITED, "low", "/messages/0"),
    Pair("EH-07", mid_batch, EDITED, "medium", "/messages/0", source={"journal": JOURNAL}),
    Pair("EH-07", mid_batch, {"/messages/0": A_PHOTO}, "low", "/messages/0"),
    Pair(
        "EH-08",
        None,
        {},
        "high",
        "/sessionId",
        known=runs(KnownRun("r1", "s-other", "t1", None, 0)),
    ),
    Pair("EH-08", None, {}, "high", "/turnId", known=runs(KnownRun("r1", "s-garden", "t0", None, 0))),
    Pair(
        "EH-08",
        None,
        {"/parentRunId": "r0", "/delegationDepth": 1},
        "high",
        "/parentRunId",
        known=runs(KnownRun("r1", "s-garden", "t1", None, 1), PARENT),
    ),
    Pair(
        "EH-09",
        None,
        {"/parentRunId": "r0", "/delegationDepth": 3},
        "medium",
        "/delegationDepth",
        known=runs(PARENT),
    ),
    Pair("EH-09", None, {"/parentRunId": "r0", "/delegationDepth": 1}, "low", "/parentRunId"),
    Pair(
        "EH-09",
        None,
        {"/parentRunId": "run-1", "/delegationDepth": 2},
        "low",
        "/parentRunId",
        known=runs(KnownRun("run-1", "s-other", "t1", None, 4)),
    ),
    Pair("EH-10", mid_batch, {"/inputs/shop": "south"}, "medium", "/inputs"),
    Pair("EH-10", mid_batch, {"/inputs": DROP}, "medium", "/inputs"),
    Pair("EH-11", None, {}, "high", "/lastSequence", source={"journal": [event(12, "turn_started")]}),
    Pair(
        "EH-11",
        None,
        {},
        "high",
        "/lastSequence",
        source={
            "journal": [
                event(14, "tool_execution_completed"),
                event(15, "checkpoint_created", checkpointId="cp-van", includedThroughSequence=12),
            ]
        },
    ),
    Pair("EH-12", mid_batch, CUT, "low", "/messages"),
    Pair("EH-12", mid_batch, CUT, "medium", "/messages", source={"journal": JOURNAL}),
    Pair("EH-13", blocked, {}, "high", "/reconciliationRequired", source={"journal": JOURNAL}),
    Pair(
        "EH-14",
        None,
        {"/iteration": 2, "/completedModelIterations": 3},
        "high",
        "/source/resume/maxIterations",
        source={"resume": {"maxIterations": 1, "maxModelAttempts": 3}},
    ),
    Pair(
        "EH-14",
        None,
        {},
        "high",
        "/source/resume/maxModelAttempts",
        source={"resume": {"maxIterations": 9, "maxModelAttempts": 0}},
    ),
)

NEAR_MISSES = (
    Pair("EH-01", None, {}),
    # The same checkpoint handed over once more, under another handoff: a flat document's digest differs.
    Pair("EH-01", after, {"/checkpoint_id": "cp-10"}, known={"same_source_id_digest": OTHER}),
    Pair("EH-02", mid_batch, {"/lastSequence": 10}),
    Pair("EH-02", after, {"/checkpoint_id": "cp-10"}),
    Pair("EH-03", mid_batch, {}),
    # What cannot be read may be the result.
    Pair("EH-03", mid_batch, {"/completedToolResults/0": 7}),
    Pair("EH-04", blocked, {}),
    Pair(
        "EH-04",
        lambda: changed(mid_batch(), {"/completedToolResults/0/output": None}),
        {"/completedToolResults/0/output": DROP},
    ),
    Pair("EH-05", mid_batch, {"/pendingToolRequests/-": request("call_c", "write_card")}),
    Pair("EH-06", mid_batch, {"/iteration": 1, "/completedModelIterations": 2}),
    Pair("EH-07", mid_batch, EDITED, source={"journal": REWRITTEN}),
    Pair("EH-07", mid_batch, {**EDITED, "/resumeSameIteration": True, "/policyAppliedForIteration": True}),
    Pair("EH-07", mid_batch, {"/messages/0/metadata": DROP}),
    Pair("EH-07", mid_batch, {"/messages/1": message("user", "Twenty roses.")}),
    Pair("EH-08", None, {}, known=runs(KnownRun("r1", "s-garden", "t1", None, 0))),
    Pair("EH-08", None, {"/runId": "run-1"}, known=runs(KnownRun("run-1", "s-other", "t9", "r7", 2))),
    Pair("EH-09", None, {"/parentRunId": "r0", "/delegationDepth": 1}, known=runs(PARENT)),
    Pair("EH-10", mid_batch, {}),
    Pair("EH-10", lambda: changed(mid_batch(), {"/inputs": DROP}), {"/inputs": None}),
    Pair("EH-11", None, {}, source={"journal": JOURNAL}),
    # A tail that begins right after the checkpoint.
    Pair("EH-11", None, {}, source={"journal": JOURNAL[2:]}),
    # A delegated run in the same journal, int64 as text, an older use of the same id.
    Pair(
        "EH-11",
        None,
        {},
        source={
            "journal": [
                event("3", "checkpoint_created", checkpointId="cp-van", includedThroughSequence="2"),
                {
                    "sequence": 99,
                    "kind": "checkpoint_created",
                    "runId": "r7",
                    "payload": {"checkpointId": "cp-van"},
                },
                event("14", "tool_execution_completed"),
                event("15", "checkpoint_created", checkpointId="cp-van", includedThroughSequence="14"),
            ]
        },
    ),
    Pair("EH-11", None, {}, source={"journal": []}),
    Pair(
        "EH-11", None, {}, source={"journal": [event(12, "turn_started"), {"kind": "tool_result_committed"}]}
    ),
    Pair("EH-12", mid_batch, CUT, source={"journal": REWRITTEN}),
    Pair("EH-12", mid_batch, {"/messages/-": message("assistant", "Done.")}),
    Pair("EH-13", blocked, {}),
    Pair("EH-13", blocked, {}, source={"journal": [event(11, "tool_result_reconciled"), *JOURNAL]}),
    Pair("EH-13", mid_batch, {}, source={"journal": JOURNAL}),
    Pair("EH-14", None, {}, source={"resume": {"maxIterations": 0, "maxModelAttempts": 1}}),
    Pair("EH-14", None, {"/iteration": 2, "/completedModelIterations": 3}),
)


def model_answered() -> Document:
    """After `unknown_model`: the host confirmed the answer."""
    return changed(
        unknown_model(),
        {
            "/id": "cp-answer",
            "/lastSequence": 9,
            "/reconciliationRequired": False,
            "/modelReconciliation": DROP,
            "/completedModelIterations": 1,
            "/finalOutputReady": True,
            "/pendingOutput": "Yours are kept.",
            "/messages/-": message("assistant", "Yours are kept."),
        },
    )
