"""A policy as a person reads it: who hands to whom, what is required, what raises the risk, what checks lead to."""

from __future__ import annotations

import json
from typing import Any

from checkpoints.checks.catalogue import CATALOGUE, Entry
from checkpoints.checks.silence import ruling
from checkpoints.policies import compile_policy, with_defaults
from checkpoints.types import CheckPolicy, Gate, Hit, JSONObject, JSONValue, Risk
from reviewqueue.diffs import Change, changes
from reviewqueue.pages import words

FAMILIES = {
    "admission": "At the door (refused, never stored)",
    "approvals": "Approvals",
    "clock": "Times",
    "conclusions": "The sender’s own conclusions",
    "constraints": "Roles and constraints",
    "contradictions": "Contradictions inside a handoff",
    "decisions": "Pending decisions",
    "engine": "Engine checkpoints",
    "engine_history": "Engine checkpoints against earlier ones",
    "fingerprint": "Fingerprint",
    "footprint": "Size and footprint",
    "history": "Against the checkpoint before",
    "integrity": "Hash",
    "recovery": "Recovery and retries",
    "safety": "Secrets and deceiving text",
    "schema": "Shape",
    "sequence": "Order and loops",
    "system": "The checks themselves",
    "vocabularies": "Two vocabularies",
}
LEADS_TO = {
    "reject": "rejected",
    "review": "waits for a person",
    "warn": "goes on with a warning",
    "ignore": "not mentioned",
}


def reading(document: JSONObject) -> dict[str, Any]:
    """The names that `policy/reading.html` needs."""
    compiled = compile_policy(document, version=0)
    return {
        "compiled": compiled,
        "document": json.dumps(document, ensure_ascii=False, indent=2),
        "levels": [_level(compiled, risk) for risk in (Risk.HIGH, Risk.MEDIUM, Risk.LOW)],
        "roles": sorted(compiled.roles.items()),
        "rules": [
            {
                "level": rule.level.value,
                "when": [(name.replace("_", " "), values) for name, values in rule.when.items()],
            }
            for rule in compiled.risk_rules
        ],
        "required": [
            *[("from", role, names) for role, names in sorted(compiled.required_from.items())],
            *[("to", role, names) for role, names in sorted(compiled.required_to.items())],
        ],
        "families": _families(compiled),
        "steered": len(compiled.checks),
        "limits": _limits(compiled),
        "ticket": document.get("ticket"),
    }


def differences(before: JSONObject, after: JSONObject) -> list[dict[str, Any]]:
    """What a policy says otherwise than another, defaults included on both sides."""
    return [_change(change) for change in changes(with_defaults(before), with_defaults(after))]


def _change(change: Change) -> dict[str, Any]:
    code = change.pointer.split("/")[2] if change.pointer.startswith("/checks/") else ""
    return {
        "pointer": change.pointer,
        "kind": change.kind,
        "title": CATALOGUE[code].title if code in CATALOGUE else "",
        "before": None if change.kind == "added" else _written(change.before),
        "after": None if change.kind == "removed" else _written(change.after),
    }


def _written(value: JSONValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _level(compiled: CheckPolicy, risk: Risk) -> dict[str, Any]:
    return {
        "name": risk.value,
        "approvals": words.plural(compiled.approvals[risk], "person", "people"),
        "self_approval": compiled.self_approval_of_edits.get(risk, False),
        "deadline": words.span(compiled.review_deadline_seconds[risk]),
        "ticket": risk in compiled.external_ticket_required_for,
    }


def _families(compiled: CheckPolicy) -> list[dict[str, Any]]:
    by_family: dict[str, list[Entry]] = {}
    for entry in CATALOGUE.values():
        by_family.setdefault(entry.family, []).append(entry)
    return [
        {
            "name": FAMILIES.get(family, words.cut(family.replace("_", " ").capitalize(), 60)),
            "checks": [_check(compiled, entry) for entry in entries],
            "steered": sum(entry.code in compiled.checks for entry in entries),
        }
        for family, entries in sorted(by_family.items(), key=lambda item: _place(item[0]))
    ]


def _place(family: str) -> tuple[bool, str]:
    """Admission last: no policy steers it."""
    return family == "admission", FAMILIES.get(family, family)


def _check(compiled: CheckPolicy, entry: Entry) -> dict[str, Any]:
    severity, disposition = ruling(Hit(entry.code, "", ""), compiled)
    refused = entry.gate is Gate.ADMISSION
    return {
        "code": entry.code,
        "title": entry.title,
        "severity": severity.value,
        "leads_to": "refused" if refused else LEADS_TO[disposition.value],
        "conditions": entry.conditions,
        "steered": entry.code in compiled.checks,
    }


def _limits(compiled: CheckPolicy) -> list[tuple[str, str]]:
    retries = ", ".join(words.span(seconds) for seconds in compiled.retry_backoff_seconds)
    return [
        (
            "Without a decision in time",
            "abort" if compiled.review_on_expiry == "abort" else "escalate to a person",
        ),
        ("A claim lasts", words.span(compiled.claim_seconds)),
        ("The receiver has to acknowledge within", words.span(compiled.handoff_timeout_seconds)),
        ("Retries", f"{compiled.max_retries}, after {retries}"),
        ("A ticket is valid for", words.span(compiled.approval_valid_seconds)),
        ("An expired ticket is signed again for", words.span(compiled.approval_reissue_seconds)),
        ("Largest document", _size(compiled.max_document_bytes)),
        ("Largest context", f"{compiled.max_context_tokens} tokens"),
        ("Tolerated clock difference", words.span(compiled.clock_skew_seconds)),
        ("Schemes of references", ", ".join(compiled.reference_schemes) or "none"),
        ("Required lists may be empty", "no" if compiled.strict_non_empty else "yes"),
        ("Documents of unknown format", LEADS_TO[compiled.opaque.value]),
        ("Bodies are kept for", words.plural(compiled.retention_days, "day")),
    ]


def _size(number: int) -> str:
    return f"{number // 1024} KiB" if number >= 1024 else f"{number} bytes"
