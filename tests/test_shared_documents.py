"""Documents that nobody of this project wrote, judged under the demo policy. Skipped where they are not here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.servers import ROOT

SHARED = Path(os.environ.get("SHARED_DATA") or ROOT.parent / "shared" / "data")
ENGINE = [*(f"engine_{number}.json" for number in range(1, 13)), "engine_py_1.json"]

pytestmark = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"{SHARED} is not here (SHARED_DATA names another folder)"
)


@pytest.fixture(scope="module")
def judged(own_database: str) -> dict[str, Any]:
    """The newest check run of each file, all posted in file order by one orchestrator under the demo policy."""
    from checkpoints.models import CheckRun
    from reviewqueue.demo.staging import publish_policy
    from tests import characters

    files = [SHARED / "handoff" / "valid_previous.json", SHARED / "handoff" / "valid.json"]
    files += [SHARED / "engine" / name for name in ENGINE]
    publish_policy()
    owner, runs = characters.orchestrator(), {}
    for file in files:
        handoff = characters.judged(owner, file.read_bytes())
        runs[file.name] = CheckRun.objects.get(handoff=handoff)
    return runs


@pytest.mark.parametrize("name", ["valid_previous.json", "valid.json"])
def test_the_valid_documents_clear_with_nothing_above_low(judged: dict[str, Any], name: str) -> None:
    run = judged[name]
    assert run.outcome == "cleared"
    assert [item for item in run.findings if item["severity"] != "low"] == []


@pytest.mark.parametrize("name", ENGINE)
def test_documents_of_the_real_engine_have_no_engine_finding_above_low(
    judged: dict[str, Any], name: str
) -> None:
    found = judged[name].findings
    assert [item for item in found if re.match("E[CH]-", item["code"]) and item["severity"] != "low"] == []


def test_only_an_open_reconciliation_stops_a_document_of_the_real_engine(judged: dict[str, Any]) -> None:
    assert (judged["engine_10.json"].outcome, judged["engine_10.json"].reasons) == (
        "flagged",
        ["reconciliation"],
    )
    others = {
        name: (judged[name].outcome, judged[name].reasons) for name in ENGINE if name != "engine_10.json"
    }
    assert set(map(str, others.values())) == {"('cleared', [])"}, others
