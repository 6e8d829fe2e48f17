"""From a policy document to the frozen `CheckPolicy` that checks and services read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from checkpoints.errors import InvalidInput, ProblemError
from checkpoints.policies.document import validate, with_defaults
from checkpoints.policies.patterns import compile_pattern
from checkpoints.types import (
    CheckPolicy,
    CheckRule,
    Disposition,
    JSONObject,
    Risk,
    RiskRule,
    RoleRule,
    Severity,
)


def compile_policy(document: JSONObject, version: int) -> CheckPolicy:
    """The compiled policy, completed by defaults. Raises InvalidInput with one entry in `errors` per mistake."""
    errors = validate(document)
    if errors:
        raise _refusal(errors)
    # The schema has settled every type; from here on the document is read, not judged.
    full: dict[str, Any] = with_defaults(document)
    ticket: dict[str, Any] = full["ticket"] or {}
    return CheckPolicy(
        version=version,
        roles=_frozen({name: _role(role) for name, role in full["roles"].items()}),
        required_from=_lists(full["required_constraints"]["from"]),
        required_to=_lists(full["required_constraints"]["to"]),
        conflicting_constraints=tuple((first, second) for first, second in full["conflicting_constraints"]),
        risk_default=Risk(full["risk"]["default"]),
        risk_rules=tuple(_risk_rule(rule) for rule in full["risk"]["rules"]),
        approvals=_by_risk(full["approvals"]),
        self_approval_of_edits=_frozen({**_by_risk(full["self_approval_of_edits"]), Risk.HIGH: False}),
        checks=_frozen({code: _check_rule(rule) for code, rule in full["checks"].items()}),
        opaque=Disposition(full["opaque"]),
        max_document_bytes=full["max_document_bytes"],
        max_context_tokens=full["max_context_tokens"],
        clock_skew_seconds=full["clock_skew_seconds"],
        handoff_timeout_seconds=full["handoff_timeout_seconds"],
        max_retries=full["max_retries"],
        retry_backoff_seconds=tuple(full["retry_backoff_seconds"]),
        reference_schemes=tuple(full["reference_schemes"]),
        task_id_matches=_matcher(full["task_id_pattern"]),
        external_ticket_matches=_matcher(ticket.get("pattern")),
        external_ticket_url=ticket.get("url"),
        external_ticket_required_for=tuple(Risk(level) for level in ticket.get("required_for", ())),
        approval_valid_seconds=full["approval"]["valid_seconds"],
        approval_reissue_seconds=full["approval"]["reissue_seconds"],
        review_deadline_seconds=_by_risk(full["review"]["deadline_seconds"]),
        review_on_expiry=full["review"]["on_expiry"],
        claim_seconds=full["review"]["claim_seconds"],
        strict_non_empty=full["strict_non_empty"],
        retention_days=full["retention_days"],
    )


def _refusal(errors: list[ProblemError]) -> InvalidInput:
    count = "one mistake" if len(errors) == 1 else f"{len(errors)} mistakes, the first"
    detail = f"The policy has {count} at {errors[0].pointer or 'its top'}: {errors[0].detail}"
    return InvalidInput(detail, slug="invalid-body", errors=errors)


def _frozen[K, V](members: Mapping[K, V]) -> Mapping[K, V]:
    return MappingProxyType(dict(members))


def _lists(members: Mapping[str, list[str]]) -> Mapping[str, tuple[str, ...]]:
    return _frozen({role: tuple(names) for role, names in members.items()})


def _by_risk[V](members: Mapping[str, V]) -> Mapping[Risk, V]:
    return _frozen({Risk(level): value for level, value in members.items()})


def _role(role: Mapping[str, Any]) -> RoleRule:
    targets = role.get("may_hand_off_to")
    return RoleRule(
        capabilities=tuple(role.get("capabilities", ())),
        may_hand_off_to=None if targets is None else tuple(targets),
        fallback_role=role.get("fallback_role"),
    )


def _risk_rule(rule: Mapping[str, Any]) -> RiskRule:
    when = {
        member: (wanted,) if isinstance(wanted, str) else tuple(wanted)
        for member, wanted in rule["when"].items()
    }
    return RiskRule(when=_frozen(when), level=Risk(rule["level"]))


def _check_rule(rule: Mapping[str, str]) -> CheckRule:
    severity, disposition = rule.get("severity"), rule.get("disposition")
    return CheckRule(
        severity=Severity(severity) if severity else None,
        disposition=Disposition(disposition) if disposition else None,
    )


def _matcher(pattern: str | None) -> Callable[[str], bool] | None:
    return None if pattern is None else compile_pattern(pattern)


DEFAULT_POLICY: Final = compile_policy({}, 0)
