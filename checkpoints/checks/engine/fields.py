"""The members of an EngineCheckpoint as its published schema requires them, as data for `shape`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Field:
    """What one member must be. `kind`: text, flag, int32, int64, object, list or choice."""

    kind: str
    required: bool = False
    least: int | None = None  # of a counter: below it is EC-03
    words: tuple[str, ...] = ()  # of a choice: outside it is EC-05
    members: Mapping[str, Field] | None = None  # of an object, or of each element of a list
    kinds: Mapping[str, Mapping[str, Field]] | None = None  # further members, chosen by the member `kind`
    settled_by: type | None = None  # where this type alone says that the value is right

    def must(self) -> Field:
        return replace(self, required=True)


TEXT: Final = Field("text", settled_by=str)
FLAG: Final = Field("flag", settled_by=bool)
OBJECT: Final = Field("object", settled_by=dict)
INT32: Final = Field("int32")
INT64: Final = Field("int64")
COUNTER: Final = Field("int32", required=True, least=0)

_MEDIA: Final = {"source": TEXT.must(), "mediaType": TEXT}
_PART: Final = Field(
    "list",
    members={"kind": Field("choice", required=True, words=("text", "image", "file", "audio"))},
    kinds={
        "text": {"value": TEXT.must()},
        "image": {**_MEDIA, "detail": TEXT},
        "file": _MEDIA,
        "audio": _MEDIA,
    },
)
_MESSAGES: Final = Field(
    "list",
    members={
        "role": Field("choice", required=True, words=("system", "user", "assistant", "developer", "tool")),
        "parts": _PART.must(),
        "metadata": OBJECT,  # required too, but its absence is EC-52
    },
)
_REQUESTS: Final = Field("list", members={"id": TEXT.must(), "name": TEXT.must(), "metadata": OBJECT})
_RESULTS: Final = Field(
    "list",
    members={
        "requestId": TEXT.must(),
        "name": TEXT.must(),
        "outcome": Field("choice", required=True, words=("success", "failed", "indeterminate")),
        "errorKind": TEXT,
        "metadata": OBJECT,
    },
)
_STATE: Final = Field(
    "object",
    members={
        "portability": Field("choice", required=True, words=("portable", "delegated", "opaque")),
        "delegatedState": Field(
            "list",
            members={
                "provider": TEXT.must(),
                "kind": TEXT.must(),
                "id": TEXT.must(),
                "metadata": OBJECT,
            },
        ),
    },
)
_DECISIONS: Final = Field(
    "list",
    members={
        "candidateId": TEXT.must(),
        "disposition": Field("choice", required=True, words=("included", "excluded")),
        "reason": TEXT.must(),
        "rank": INT32,
        "estimatedTokens": INT32,
        "metadata": OBJECT,
    },
)
_SNAPSHOT: Final = Field(
    "object",
    required=True,
    members={
        "id": TEXT.must(),
        "sessionId": TEXT.must(),
        "turnId": TEXT.must(),
        "invocationId": TEXT.must(),
        "iteration": COUNTER,
        "messages": _MESSAGES.must(),
        "decisions": _DECISIONS,
        "stablePrefixMessages": COUNTER,
        "contextState": _STATE.must(),
        "metadata": OBJECT,
    },
)
_RECONCILIATION: Final = Field(
    "object",
    members={
        "invocationId": TEXT.must(),
        "request": Field("object", required=True, members={"context": _SNAPSHOT}),
        "failedAttempt": INT32.must(),  # below zero is EC-28
        "message": TEXT.must(),
        "metadata": OBJECT,
    },
)
_RESPONSE: Final = Field(
    "object",
    members={
        "usage": Field(
            "object",
            members={  # below zero is EC-51
                "inputTokens": INT64.must(),
                "outputTokens": INT64.must(),
                "totalTokens": INT64.must(),
            },
        ),
        "assistantMessages": _MESSAGES,
        "toolRequests": _REQUESTS,
        "nextContextState": _STATE,
        "metadata": OBJECT,
    },
)

CHECKPOINT: Final[Mapping[str, Field]] = {
    "id": TEXT.must(),
    "sessionId": TEXT.must(),
    "turnId": TEXT.must(),
    "runId": TEXT.must(),
    "parentRunId": TEXT,
    "delegationDepth": COUNTER,
    "iteration": COUNTER,
    "lastSequence": Field("int64", required=True, least=1),
    "messages": _MESSAGES.must(),
    "stablePrefixMessages": COUNTER,
    "activeInvocationId": TEXT,
    "pendingToolRequests": _REQUESTS,
    "completedToolResults": _RESULTS,
    "completedModelIterations": COUNTER,
    "reconciliationRequired": FLAG.must(),
    "modelReconciliation": _RECONCILIATION,
    "finalOutputReady": FLAG.must(),
    "pendingModelResponse": _RESPONSE,
    "resumeSameIteration": FLAG.must(),
    "policyAppliedForIteration": FLAG.must(),
    "contextState": _STATE.must(),
    "metadata": OBJECT,
}
