"""The policy as people write it: JSON Schema, defaults, and every mistake with its pointer (contract §8)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from importlib import resources
from typing import Final, NoReturn

import jsonschema_rs

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.checks.shape import escape
from checkpoints.errors import ProblemError
from checkpoints.formats import FORMATS
from checkpoints.policies.patterns import pattern_error
from checkpoints.types import JSONObject, JSONValue

_DEFAULTS: Final[JSONObject] = {
    "roles": {},
    "required_constraints": {"from": {}, "to": {}},
    "conflicting_constraints": [],
    "risk": {"default": "medium", "rules": []},
    "approvals": {"low": 1, "medium": 1, "high": 2},
    "self_approval_of_edits": {"low": True, "medium": True},
    "checks": {},
    "opaque": "review",
    "max_document_bytes": 262_144,
    "max_context_tokens": 2000,
    "clock_skew_seconds": 300,
    "handoff_timeout_seconds": 900,
    "max_retries": 5,
    "retry_backoff_seconds": [0, 30, 120],
    "reference_schemes": ["s3", "gs", "az", "artifact", "https"],
    "task_id_pattern": None,
    "ticket": None,
    "approval": {"valid_seconds": 900, "reissue_seconds": 86_400},
    "review": {
        "deadline_seconds": {"high": 900, "medium": 3600, "low": 14_400},
        "on_expiry": "escalate",
        "claim_seconds": 600,
    },
    "strict_non_empty": False,
    "retention_days": 365,
}


def defaults() -> JSONObject:
    """The document that an empty policy stands for, a fresh copy."""
    return deepcopy(_DEFAULTS)


def schema() -> JSONObject:
    """The JSON Schema (2020-12) of the policy document, a fresh copy."""
    text = (resources.files("checkpoints.policies") / "schema.json").read_text(encoding="utf-8")
    found: JSONObject = json.loads(text)
    return found


def _refuse_reference(uri: str) -> NoReturn:
    raise ValueError(f"the policy schema refers to nothing outside itself, not to {uri}")


_VALIDATOR: Final = jsonschema_rs.Draft202012Validator(
    schema(), pattern_options=jsonschema_rs.RegexOptions(), retriever=_refuse_reference
)


def validate(document: JSONValue) -> list[ProblemError]:
    """Every mistake of a policy document, ordered by pointer; [] when it can be compiled."""
    if not isinstance(document, dict):
        return [ProblemError("", "policy-type", "The policy must be a JSON object.")]
    errors = [found for error in _VALIDATOR.iter_errors(document) for found in _problems(error)]
    if not errors:
        errors = [*_unknown_names(document), *_bad_patterns(document)]
    return sorted(errors, key=lambda error: (error.pointer, error.code, error.detail))


def with_defaults(document: JSONObject) -> JSONObject:
    """A valid document completed by the defaults, as `GET /api/v1/policy` may show it."""
    merged = defaults()
    for name, value in document.items():
        merged[name] = _merged(merged[name], value, deep=name not in ("roles", "checks"))
    return merged


def _merged(default: JSONValue, value: JSONValue, *, deep: bool) -> JSONValue:
    if not deep or not isinstance(default, dict) or not isinstance(value, dict):
        return deepcopy(value)
    merged = dict(default)
    for name, member in value.items():
        merged[name] = _merged(default.get(name), member, deep=True)
    return merged


def _problems(error: jsonschema_rs.ValidationError) -> Iterator[ProblemError]:
    pointer = "".join(f"/{escape(str(part))}" for part in error.instance_path)
    unexpected = getattr(error.kind, "unexpected", None)
    if error.kind.name == "additionalProperties" and unexpected:
        for name in unexpected:
            yield ProblemError(
                f"{pointer}/{escape(name)}",
                "unknown-member",
                f"{name} is no member of {pointer.removeprefix('/') or 'a policy'}. Remove it or correct "
                "its name.",
            )
        return
    yield ProblemError(pointer, f"policy-{error.kind.name}", f"{_sentence(error.message)}")


def _sentence(message: str) -> str:
    cut = message if len(message) <= 300 else f"{message[:300]}…"
    return cut if cut.endswith((".", "…")) else f"{cut}."


def _unknown_names(document: JSONObject) -> Iterator[ProblemError]:
    """Codes and formats that this installation does not know (they would be SYS-03 when a document comes)."""
    checks = document.get("checks", {})
    for code in checks if isinstance(checks, dict) else ():
        if code not in CATALOGUE:
            yield _unknown_code(f"/checks/{escape(code)}", code)
    for pointer, member, value in conditions(document):
        if member == "finding" and value not in CATALOGUE:
            yield _unknown_code(pointer, value)
        if member == "format" and value not in FORMATS:
            known = ", ".join(FORMATS)
            yield ProblemError(pointer, "unknown-format", f"{value} is no known format. Use one of {known}.")


def _unknown_code(pointer: str, code: str) -> ProblemError:
    return ProblemError(
        pointer, "unknown-code", f"{code} is no code of the catalogue. See GET /api/v1/checks."
    )


def conditions(document: JSONObject) -> Iterator[tuple[str, str, str]]:
    """(pointer, member, value) of each value in the `when` of each risk rule."""
    risk = document.get("risk", {})
    rules = risk.get("rules", []) if isinstance(risk, dict) else []
    for index, rule in enumerate(rules if isinstance(rules, list) else []):
        when = rule.get("when") if isinstance(rule, dict) else None
        for member, wanted in when.items() if isinstance(when, dict) else ():
            base = f"/risk/rules/{index}/when/{member}"
            if isinstance(wanted, str):
                yield base, member, wanted
            elif isinstance(wanted, list):
                for place, value in enumerate(wanted):
                    yield f"{base}/{place}", member, str(value)


def _bad_patterns(document: JSONObject) -> Iterator[ProblemError]:
    ticket = document.get("ticket")
    patterns = {
        "/task_id_pattern": document.get("task_id_pattern"),
        "/ticket/pattern": ticket.get("pattern") if isinstance(ticket, dict) else None,
    }
    for pointer, pattern in patterns.items():
        fault = pattern_error(pattern) if isinstance(pattern, str) else None
        if fault is not None:
            yield ProblemError(pointer, "policy-pattern", fault)
