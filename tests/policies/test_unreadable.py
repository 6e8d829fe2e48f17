"""A framework document that its reader cannot make sense of waits for a person."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from checkpoints.formats import admit
from checkpoints.policies import DEFAULT_POLICY, judge
from checkpoints.types import CheckContext, Judgement
from tests.samples import shared

BROKEN: list[tuple[str, dict[str, Any]]] = [
    ("langgraph/4", {}),
    ("langgraph/4", {"hello": 1}),
    ("langgraph/4", {"config": 5, "checkpoint": [], "tasks": "x", "next": {}}),
    ("agent-framework/1", {"pending_request_info_events": [1]}),
    ("google-adk/1", {"events": 5}),
    ("openai-agents/1", {"generated_items": [5]}),
    ("prompty.session/1", {"state": 5}),
]


def judged(format_name: str, payload: dict[str, Any]) -> Judgement:
    body = json.dumps({"format": format_name, "session_id": "s-1", "payload": payload}).encode()
    context = CheckContext(datetime.now(UTC), DEFAULT_POLICY, "c-1", 1)
    return judge(admit(body), context)


@pytest.mark.parametrize(("format_name", "payload"), BROKEN)
def test_a_document_that_does_not_fit_its_format_is_flagged(
    format_name: str, payload: dict[str, Any]
) -> None:
    found = judged(format_name, payload)
    assert found.outcome.value == "flagged"
    assert "SYS-03" in [finding.code for finding in found.findings]


@pytest.mark.parametrize("path", shared("frameworks"), ids=lambda path: path.name)
def test_real_documents_fit_their_format(path: Any) -> None:
    names = {"langgraph": "langgraph/4", "openai": "openai-agents/1", "ms_": "agent-framework/1"}
    format_name = next((name for start, name in names.items() if path.name.startswith(start)), "google-adk/1")
    codes = [finding.code for finding in judged(format_name, json.loads(path.read_text())).findings]
    assert "SYS-03" not in codes
