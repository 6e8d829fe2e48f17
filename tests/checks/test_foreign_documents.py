"""Real documents of others: nothing above low is said about them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from checkpoints.checks.secrets import kinds_in
from checkpoints.formats import admit
from checkpoints.policies import DEFAULT_POLICY, judge
from checkpoints.types import CheckContext, Severity, Submission
from tests.samples import SHARED_DATA, shared

FORMATS = {
    "langgraph": "langgraph/4",
    "openai": "openai-agents/1",
    "ms": "agent-framework/1",
    "google": "google-adk/1",
}
AT = datetime(2026, 11, 30, 12, 1, tzinfo=UTC)


def judgement(found: Submission, previous: Submission | None = None):
    return judge(found, CheckContext(AT, DEFAULT_POLICY, "c", found.handoff_sequence or 1, previous=previous))


def quiet(found: Submission, previous: Submission | None = None):
    result = judgement(found, previous)
    assert result.complete
    assert [finding for finding in result.findings if finding.severity is not Severity.LOW] == []
    return result


@pytest.mark.parametrize("file", shared("frameworks"))
def test_a_framework_document_is_quiet_in_both_forms(file):
    document = json.loads(file.read_bytes())
    outer = {"session_id": "session-1", "format": FORMATS[file.name.split("_")[0]]}
    enveloped = quiet(admit(json.dumps(outer | {"payload": document}).encode()))
    flat = quiet(admit(json.dumps(document | outer).encode()))
    assert enveloped.outcome == flat.outcome
    # A pause waits for a person; everything else is free to go.
    assert (enveloped.outcome == "flagged") == ("interrupt" in enveloped.reasons)


@pytest.mark.parametrize("file", shared("engine"))
def test_an_engine_document_is_quiet(file):
    quiet(admit(file.read_bytes()))


def test_the_sample_handoff_is_clean_after_its_predecessor():
    folder = SHARED_DATA / "handoff"
    if not folder.exists():
        pytest.skip("no sample handoffs: set SHARED_DATA to read them")
    previous = admit((folder / "valid_previous.json").read_bytes())
    assert quiet(previous).outcome == "cleared"
    assert quiet(admit((folder / "valid.json").read_bytes()), previous).findings == ()


@pytest.mark.parametrize("file", [*shared("frameworks"), *shared("engine"), *shared("handoff")])
def test_no_sample_holds_a_credential(file):
    assert list(kinds_in(file.read_text(encoding="utf-8"))) == []
