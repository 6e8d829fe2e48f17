"""No document makes a check raise, and time grows with the document, not with its square."""

from __future__ import annotations

import copy
import time
from types import NoneType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoints.formats.engine import MEMBERS
from tests.checks.engine_documents import (
    Document,
    final,
    hits,
    message,
    mid_batch,
    policy,
    request,
    result,
    submitted,
    unknown_model,
)

BASES = (mid_batch, final, unknown_model, policy)
NAMES = st.sampled_from(
    [
        *MEMBERS,
        *(
            "role",
            "parts",
            "kind",
            "value",
            "source",
            "tool_call_id",
            "name",
            "arguments",
            "requestId",
            "outcome",
        ),
        *(
            "errorKind",
            "output",
            "request",
            "context",
            "decisions",
            "candidateId",
            "rank",
            "usage",
            "toolRequests",
        ),
        *("portability", "delegatedState", "nextContextState", "journal", "resume", "sequence", "payload"),
    ]
) | st.text(max_size=6).filter(lambda name: "\x00" not in name and name.isprintable())
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["", " ", "9", "-1", "9" * 40, "call_a", "text", "tool", "indeterminate", "delegated", "run-1"]
    )
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=12,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict | list):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            found += _places(value[key], (*path, key))
    return found


@st.composite
def broken(draw: st.DrawFn) -> Document:
    """One of our documents with some of its values replaced by anything."""
    document = copy.deepcopy(draw(st.sampled_from(BASES))())
    document["source"] = {
        "journal": [{"sequence": 9, "kind": "policy_applied"}],
        "resume": {"maxIterations": 3},
    }
    for _ in range(draw(st.integers(1, 4))):
        *path, last = draw(st.sampled_from(_places(document)))
        holder: Any = document
        for key in path:
            holder = holder[key]
        holder[last] = draw(VALUES)
    document |= {"format": "prompty.engine/1", "session_id": "s-garden", "sessionId": "s-garden"}
    return document


ANYTHING = st.dictionaries(NAMES, VALUES, max_size=12).map(
    lambda document: {
        **document,
        "format": "prompty.engine/1",
        "sessionId": "s-garden",
        "session_id": "s-garden",
    }
)
DOCUMENTS = (ANYTHING | broken()).map(
    lambda document: {name: value for name, value in document.items() if name != "payload"}
)
PROPERTY = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@PROPERTY
@given(document=DOCUMENTS, earlier=DOCUMENTS)
def test_no_document_makes_a_check_raise(document: Document, earlier: Document) -> None:
    same_run = {name: earlier.get(name) for name in ("sessionId", "turnId", "runId")}

    for hit in hits(
        submitted({**document, **same_run}), previous=submitted(earlier), same_source_id_digest="sha256:0"
    ):
        assert hit.code.startswith(("EC-", "EH-"))
        assert hit.pointer == "" or hit.pointer.startswith("/")
        assert hit.message


@PROPERTY
@given(document=broken())
def test_a_list_that_cannot_be_read_is_always_named(document: Document) -> None:
    unreadable = [
        name
        for name in ("messages", "pendingToolRequests")
        if not isinstance(document[name], list | NoneType)
    ]

    pointers = {hit.pointer for hit in hits(submitted(document)) if hit.code == "EC-01"}

    assert {f"/{name}" for name in unreadable} <= pointers


def _conversation(rounds: int) -> Document:
    document = final()
    document["messages"] = [message("system", "You take orders.")]
    document["completedToolResults"] = []
    for index in range(rounds):
        document["messages"].append(message("tool", "kept", tool_call_id=f"c{index}"))
        document["completedToolResults"].append(result(f"c{index}", "check_stock", output={"roses": index}))
    return document


def _batch(size: int) -> Document:
    document = mid_batch()
    asked = [request(f"c{index}", "check_stock", flower="rose", count=index) for index in range(size)]
    document["pendingModelResponse"]["toolRequests"] = asked
    document["completedToolResults"] = [result(f"c{index}", "check_stock") for index in range(size // 2)]
    document["pendingToolRequests"] = copy.deepcopy(asked[size // 2 :])
    return document


@pytest.mark.parametrize("shape", [_conversation, _batch])
def test_five_thousand_messages_and_results_take_linear_time(shape: Any) -> None:
    def seconds(size: int) -> float:
        now, before = submitted({**shape(size), "id": "cp-next", "lastSequence": 99}), submitted(shape(size))
        times = []
        for _ in range(3):
            start = time.process_time()
            assert hits(now, previous=before) == []
            times.append(time.process_time() - start)
        return min(times)

    small, large = seconds(500), seconds(5000)

    assert large / small < 30  # ten is linear, a hundred is square
    assert large < 2


def test_a_thousand_faults_take_linear_time() -> None:
    document = _batch(5000)
    for item in document["pendingToolRequests"]:
        item["name"] = "other"

    start = time.process_time()
    found = hits(submitted(document))

    assert len(found) == 2500
    assert time.process_time() - start < 2


@pytest.mark.parametrize("text", ["A" * 300_000 + ".", "A" * 300 + "\n" * 300_000 + ".", "data:" * 60_000])
def test_a_hostile_source_is_read_in_linear_time(text: str) -> None:
    document = mid_batch()
    document["messages"][1]["parts"] = [
        {"kind": "image", "source": text},
        {"kind": "text", "value": text + ";base64,"},
    ]
    submission = submitted(document)

    start = time.process_time()
    hits(submission)

    assert time.process_time() - start < 1
