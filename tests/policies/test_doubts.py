"""Names in a policy that nothing else in it knows are told, with their pointers."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from checkpoints.policies import doubts, validate
from checkpoints.services.policy import active
from tests.calling import run, run_json

KNOWN: dict[str, Any] = {
    "roles": {
        "triage": {"may_hand_off_to": ["billing"], "fallback_role": "billing"},
        "billing": {"may_hand_off_to": []},
    },
    "required_constraints": {"from": {"triage": ["pii_masking"]}, "to": {"billing": ["pii_masking"]}},
    "conflicting_constraints": [["read_only", "write_allowed"]],
    "risk": {"rules": [{"when": {"agent_role": "triage", "target_role": ["billing"]}, "level": "high"}]},
}
CASES = {
    "/roles/triage/fallback_role": ("unknown-role", ("roles", "triage", "fallback_role"), "biling"),
    "/roles/billing/fallback_role": ("same-role", ("roles", "billing", "fallback_role"), "billing"),
    "/roles/triage/may_hand_off_to/0": ("unknown-role", ("roles", "triage", "may_hand_off_to"), ["biling"]),
    "/required_constraints/from/tri~1age": (
        "unknown-role",
        ("required_constraints", "from"),
        {"tri/age": ["pii_masking"]},
    ),
    "/required_constraints/to/biling": ("unknown-role", ("required_constraints", "to"), {"biling": ["x"]}),
    "/risk/rules/0/when/agent_role": (
        "unknown-role",
        ("risk", "rules", 0, "when"),
        {"agent_role": "tirage", "tool_name": "pay"},
    ),
    "/risk/rules/0/when/target_role/1": (
        "unknown-role",
        ("risk", "rules", 0, "when", "target_role"),
        ["billing", "biling"],
    ),
    "/conflicting_constraints/0": (
        "same-constraint",
        ("conflicting_constraints",),
        [["read_only", "read_only"]],
    ),
}


def with_name(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    document: Any = copy.deepcopy(KNOWN)
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    found: dict[str, Any] = document
    return found


def test_a_policy_whose_names_are_all_known_raises_no_doubt():
    assert doubts(KNOWN) == doubts({}) == []


@pytest.mark.parametrize("pointer", CASES)
def test_an_unknown_name_is_told_with_its_pointer(pointer):
    code, path, value = CASES[pointer]
    document = with_name(path, value)
    assert validate(document) == []
    assert [(item.pointer, item.code) for item in doubts(document)] == [(pointer, code)]


def test_without_a_registry_every_role_is_known():
    document = with_name(("roles",), {})
    assert doubts(document) == []


def test_validate_tells_doubts_and_refuses_them_when_strict(own_database: str, tmp_path: Path):
    file = tmp_path / "policy.json"
    file.write_text(json.dumps(with_name(("roles", "triage", "fallback_role"), "biling")))
    code, answer = run_json("policy", "validate", str(file))
    assert (code, answer["valid"]) == (0, True)
    assert [item["pointer"] for item in answer["warnings"]] == ["/roles/triage/fallback_role"]
    assert "biling is not in roles" in run("policy", "validate", str(file))[1]
    before = active(fresh=True).version
    for verb in ("validate", "apply"):
        code, answer = run_json("policy", verb, str(file), "--strict")
        assert (code, [item["code"] for item in answer["errors"]]) == (2, ["unknown-role"])
    assert active(fresh=True).version == before
    code, answer = run_json("policy", "apply", str(file))
    assert (code, len(answer["warnings"])) == (0, 1)
    assert active(fresh=True).version == answer["version"]
