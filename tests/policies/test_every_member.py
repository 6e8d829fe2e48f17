"""Every member of the policy changes a verdict, or what people and attempts may do (tests/test_policy_in_force.py)."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.policies import schema
from checkpoints.types import JSONObject, Judgement
from tests.checks.documents import Change, all_of, changed, judged, set_at
from tests.test_policy_in_force import IN_FORCE

# member -> (value, change to a clean document, what differs: findings' codes, outcome, risk, approvals or disposition)
CASES: dict[str, tuple[Any, Change, tuple[str, Any, Any]]] = {
    "roles": ({"clerk": {}}, all_of(), ("HC-61", False, True)),
    "required_constraints": (
        {"from": {"intake": ["no_export"]}, "to": {}}, all_of(), ("HC-54", False, True),
    ),
    "conflicting_constraints": (
        [["pii_masking", "no_payout_above_2000"]], all_of(), ("HC-55", False, True),
    ),
    "risk": (
        {"default": "medium", "rules": [{"when": {"target_role": "assessor"}, "level": "high"}]},
        all_of(), ("risk", "medium", "high"),
    ),
    "approvals": ({"medium": 3}, set_at("/human_approval_required", True), ("approvals", 1, 3)),
    "checks": (
        {"HC-14": {"disposition": "warn"}}, set_at("/consistency_hash", "0" * 64), ("outcome", "flagged", "cleared"),
    ),
    "max_document_bytes": (1024, all_of(), ("HC-07", False, True)),
    "max_context_tokens": (4, all_of(), ("HC-71", False, True)),
    "clock_skew_seconds": (3600, set_at("/timestamp", "2026-03-02T09:20:00Z"), ("HC-42", True, False)),
    "handoff_timeout_seconds": (10, all_of(), ("HC-43", False, True)),
    "max_retries": (2, all_of(), ("HC-68", False, True)),
    "reference_schemes": (["s3"], all_of(), ("HC-58", False, True)),
    "task_id_pattern": ("^T-", all_of(), ("HC-75", False, True)),
    "strict_non_empty": (True, set_at("/completed_steps", []), ("HC-02", False, True)),
}  # fmt: skip
OPAQUE = {"format": "opaque", "session_id": "s", "payload": {"x": 1}}


def seen(judgement: Judgement, what: str) -> object:
    if what == "risk":
        return judgement.risk.value
    if what == "approvals":
        return judgement.approvals_required
    if what == "outcome":
        return judgement.outcome.value
    return any(finding.code == what for finding in judgement.findings)


@pytest.mark.parametrize("member", CASES)
def test_a_member_changes_the_verdict(member: str) -> None:
    value, change, (what, before, after) = CASES[member]
    document = changed(change)
    assert seen(judged(document), what) == before
    assert seen(judged(document, policy={member: value}), what) == after, [
        finding.code for finding in judged(document, policy={member: value}).findings
    ]


def test_opaque_documents_get_the_disposition_of_the_policy() -> None:
    document: JSONObject = dict(OPAQUE)
    assert judged(document).outcome.value == "flagged"
    assert judged(document, policy={"opaque": "warn"}).outcome.value == "cleared"


def test_every_member_has_a_case() -> None:
    properties = schema()["properties"]
    assert isinstance(properties, dict)
    # Bodies are not deleted by age yet: retention has no effect to test.
    assert set(properties) == set(CASES) | {"opaque"} | set(IN_FORCE) | {"retention_days"}
