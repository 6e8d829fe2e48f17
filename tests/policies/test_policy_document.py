"""The policy document: its schema, its defaults and the policy it compiles to."""

from __future__ import annotations

import time

import pytest

from checkpoints.errors import InvalidInput
from checkpoints.policies import compile_policy, defaults, schema, validate, with_defaults
from checkpoints.policies.patterns import compile_pattern
from checkpoints.types import CheckPolicy, Risk

FULL = {
    "roles": {
        "triage": {"capabilities": ["route"], "may_hand_off_to": ["billing"], "fallback_role": "legal"}
    },
    "required_constraints": {"from": {"triage": ["pii_masking"]}, "to": {}},
    "conflicting_constraints": [["refund_limit_500", "no_refund_limit"]],
    "risk": {"default": "medium", "rules": [{"when": {"target_role": "payments"}, "level": "high"}]},
    "approvals": {"low": 1, "medium": 1, "high": 2},
    "self_approval_of_edits": {"low": True, "medium": False},
    "checks": {"HC-58": {"severity": "medium", "disposition": "warn"}},
    "opaque": "review",
    "max_document_bytes": 262144,
    "max_context_tokens": 2000,
    "clock_skew_seconds": 300,
    "handoff_timeout_seconds": 900,
    "max_retries": 5,
    "retry_backoff_seconds": [0, 30, 120],
    "reference_schemes": ["s3", "gs", "az", "artifact", "https"],
    "task_id_pattern": "^T-\\d+$",
    "ticket": {
        "pattern": "^CHG-\\d+$",
        "url": "https://tickets.example/{reference}",
        "required_for": ["high"],
    },
    "approval": {"valid_seconds": 900, "reissue_seconds": 86400},
    "review": {
        "deadline_seconds": {"high": 900, "medium": 3600, "low": 14400},
        "on_expiry": "escalate",
        "claim_seconds": 600,
    },
    "strict_non_empty": False,
    "retention_days": 365,
}


def test_an_empty_document_compiles_to_the_defaults_of_the_types():
    assert compile_policy({}, 0) == CheckPolicy()


def test_the_defaults_are_a_valid_policy_and_every_member_has_one():
    assert validate(defaults()) == []
    assert set(defaults()) == set(schema()["properties"])
    assert compile_policy(defaults(), 3) == compile_policy({}, 3)


def test_a_full_document_is_compiled():
    policy = compile_policy(FULL, 12)
    assert policy.version == 12
    assert policy.roles["triage"].may_hand_off_to == ("billing",)
    assert policy.roles["triage"].fallback_role == "legal"
    assert policy.risk_rules[0].when == {"target_role": ("payments",)}
    assert policy.external_ticket_required_for == (Risk.HIGH,)
    assert policy.external_ticket_matches is not None
    assert policy.task_id_matches is not None
    assert policy.external_ticket_matches("CHG-12")
    assert not policy.external_ticket_matches("CHG-12\n")
    assert policy.task_id_matches("T-4411")
    assert policy.self_approval_of_edits == {Risk.LOW: True, Risk.MEDIUM: False, Risk.HIGH: False}


def test_members_left_out_keep_their_defaults_one_level_down():
    merged = with_defaults({"review": {"on_expiry": "abort"}, "approvals": {"high": 3}})
    assert merged["review"]["claim_seconds"] == 600
    assert merged["approvals"] == {"low": 1, "medium": 1, "high": 3}
    policy = compile_policy({"review": {"deadline_seconds": {"high": 60}}}, 1)
    assert policy.review_deadline_seconds == {Risk.HIGH: 60, Risk.MEDIUM: 3600, Risk.LOW: 14400}


@pytest.mark.parametrize(
    ("document", "pointer", "code"),
    [
        ({"rolez": {}}, "/rolez", "unknown-member"),
        ({"roles": {"a/b": {"power": 1}}}, "/roles/a~1b/power", "unknown-member"),
        ({"ticket": {"link": "x"}}, "/ticket/link", "unknown-member"),
        (
            {"review": {"deadline_seconds": {"urgent": 1}}},
            "/review/deadline_seconds/urgent",
            "unknown-member",
        ),
        (
            {"risk": {"rules": [{"when": {"role": "x"}, "level": "low"}]}},
            "/risk/rules/0/when/role",
            "unknown-member",
        ),
        ({"max_retries": "5"}, "/max_retries", "policy-type"),
        ({"max_retries": -1}, "/max_retries", "policy-minimum"),
        ({"opaque": "maybe"}, "/opaque", "policy-enum"),
        ({"checks": {"HC-18": {"severity": "huge"}}}, "/checks/HC-18/severity", "policy-enum"),
        ({"checks": {"HC-999": {}}}, "/checks/HC-999", "unknown-code"),
        (
            {"risk": {"rules": [{"when": {"finding": ["HC-18", "X"]}, "level": "high"}]}},
            "/risk/rules/0/when/finding/1",
            "unknown-code",
        ),
        (
            {"risk": {"rules": [{"when": {"format": "handoff/9"}, "level": "high"}]}},
            "/risk/rules/0/when/format",
            "unknown-format",
        ),
        ({"task_id_pattern": "(?=a)b"}, "/task_id_pattern", "policy-pattern"),
        ({"task_id_pattern": "(a"}, "/task_id_pattern", "policy-pattern"),
        ({"ticket": {"pattern": "(a{1000}){1000}"}}, "/ticket/pattern", "policy-pattern"),
        ({"ticket": {"url": "javascript:alert(1)"}}, "/ticket/url", "policy-pattern"),
        ({"reference_schemes": ["HTTP"]}, "/reference_schemes/0", "policy-pattern"),
        ([], "", "policy-type"),
    ],
)
def test_a_mistake_is_refused_with_its_pointer(document, pointer, code):
    found = validate(document)
    assert (pointer, code) in [(error.pointer, error.code) for error in found]
    assert all(error.detail.endswith((".", "…")) for error in found)
    with pytest.raises(InvalidInput) as refused:
        compile_policy(document, 1)
    assert refused.value.errors == tuple(found)


def test_all_mistakes_are_told_at_once():
    assert len(validate({"rolez": {}, "max_retries": "5", "opaque": 3})) == 3


@pytest.mark.parametrize(
    "pattern", [r"^(a+)+$", r"^(a|a)*$", r"^(\w+\s?)*$", r"^([a-zA-Z0-9])(([\-.]|[_]+)?[a-z]+)*$"]
)
def test_no_pattern_makes_a_match_slow(pattern):
    matches = compile_pattern(pattern)
    started = time.process_time()
    assert not matches("a" * 65_536 + "!\n")
    assert time.process_time() - started < 0.5
