"""A session as a whole: order, gaps, runs, counts."""

from __future__ import annotations

from typing import Any

import pytest

from tests import characters
from tests.api.calling import Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def session(api: Api, name: str, query: str = "") -> dict[str, Any]:
    response = api.get(f"/api/v1/sessions/{name}{query}")
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


def test_handoffs_stand_by_sequence_with_gaps_and_counts(api: Api) -> None:
    name = characters.fresh("session")
    for number in (7, 2, 3):
        api.submit(characters.document(session_id=name, handoff_sequence=number))
    api.submitted(session_id=name, handoff_sequence=9, human_approval_required=True, task_id="T-9")
    found = session(api, name)
    assert set(found) == {"session_id", "handoffs", "next", "gaps", "runs", "state_counts"}
    assert [item["handoff_sequence"] for item in found["handoffs"]] == [2, 3, 7, 9]
    assert found["gaps"] == [4, 5, 6, 8]
    assert sum(found["state_counts"].values()) == 4
    assert found["state_counts"]["flagged"] >= 1
    assert (found["runs"], found["next"]) == ([], None)


def test_a_huge_gap_is_listed_in_part(api: Api) -> None:
    name = characters.fresh("session")
    for number in (1, 2**53 - 1):
        assert api.submit(characters.document(session_id=name, handoff_sequence=number)).status_code == 201
    assert session(api, name)["gaps"] == list(range(2, 202))


def test_delegated_runs_show_their_parents(api: Api) -> None:
    name = characters.fresh("session")
    for number, (run, parent, depth) in enumerate(
        [("run-1", None, 0), ("run-2", "run-1", 1), ("run-1", None, 0)]
    ):
        document = {
            "id": f"checkpoint-{number}", "sessionId": name, "turnId": "t", "runId": run, "delegationDepth": depth,
            "iteration": 0, "lastSequence": number + 1, "messages": [], "stablePrefixMessages": 0,
            "contextState": {"portability": "portable"},
        }  # fmt: skip
        if parent:
            document["parentRunId"] = parent
        assert api.submit(document).status_code == 201
    runs = session(api, name)["runs"]
    assert [
        (item["run_id"], item["parent_run_id"], item["depth"], len(item["checkpoint_ids"])) for item in runs
    ] == [
        ("run-1", None, 0, 2),
        ("run-2", "run-1", 1, 1),
    ]


def test_a_long_session_comes_in_pages(api: Api) -> None:
    name = characters.fresh("session")
    for number in range(1, 6):
        api.submit(characters.document(session_id=name, handoff_sequence=number))
    first = session(api, name, "?page_size=3")
    assert [item["handoff_sequence"] for item in first["handoffs"]] == [1, 2, 3]
    rest = api.get(first["next"].split("8000", 1)[1]).json()
    assert ([item["handoff_sequence"] for item in rest["handoffs"]], rest["next"]) == ([4, 5], None)
    problem(api.get(f"/api/v1/sessions/{name}?page_size=201"), 400, "invalid-parameter")
