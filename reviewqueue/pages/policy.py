"""`/policy/`: the policy in force, in words and as the document."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpResponse

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.models import PolicyVersion
from checkpoints.services.policy import active
from checkpoints.types import CheckPolicy, Risk
from reviewqueue.models import User
from reviewqueue.pages import words
from reviewqueue.pages.shell import PersonRequest, page, render_page
from reviewqueue.services.access import Act

HISTORY = 30


@page(may=Act.POLICY_READ)
def policy(request: PersonRequest) -> HttpResponse:
    current = active(fresh=True)
    compiled = current.compiled
    history = list(PolicyVersion.objects.order_by("-version").defer("document")[:HISTORY])
    people = {
        user.public_id: user.label
        for user in User.objects.filter(public_id__in=[row.published_by for row in history])
    }
    context = {
        "current": current,
        "compiled": compiled,
        "document": json.dumps(current.document, ensure_ascii=False, indent=2),
        "levels": [_level(compiled, risk) for risk in (Risk.HIGH, Risk.MEDIUM, Risk.LOW)],
        "roles": sorted(compiled.roles.items()),
        "rules": [
            {
                "level": rule.level.value,
                "when": [(name.replace("_", " "), values) for name, values in rule.when.items()],
            }
            for rule in compiled.risk_rules
        ],
        "checks": [_override(code, rule) for code, rule in sorted(compiled.checks.items())],
        "required": [
            *[("from", role, names) for role, names in sorted(compiled.required_from.items())],
            *[("to", role, names) for role, names in sorted(compiled.required_to.items())],
        ],
        "limits": _limits(compiled),
        "ticket": current.document.get("ticket"),
        "history": [{"row": row, "by": people.get(row.published_by, row.published_by)} for row in history],
    }
    return render_page(request, "policy.html", context, here="policy")


def _level(compiled: CheckPolicy, risk: Risk) -> dict[str, Any]:
    return {
        "name": risk.value,
        "approvals": words.plural(compiled.approvals[risk], "person", "people"),
        "self_approval": compiled.self_approval_of_edits.get(risk, False),
        "deadline": words.span(compiled.review_deadline_seconds[risk]),
        "ticket": risk in compiled.external_ticket_required_for,
    }


def _override(code: str, rule: Any) -> dict[str, Any]:
    entry = CATALOGUE.get(code)
    return {
        "code": code,
        "title": entry.title if entry else "",
        "severity": rule.severity.value if rule.severity else None,
        "disposition": rule.disposition.value if rule.disposition else None,
    }


def _limits(compiled: CheckPolicy) -> list[tuple[str, str]]:
    return [
        (
            "Without a decision in time",
            "abort" if compiled.review_on_expiry == "abort" else "escalate to a person",
        ),
        ("A claim lasts", words.span(compiled.claim_seconds)),
        ("The receiver has to acknowledge within", words.span(compiled.handoff_timeout_seconds)),
        (
            "Retries",
            f"{compiled.max_retries}, after "
            + ", ".join(words.span(n) for n in compiled.retry_backoff_seconds),
        ),
        ("A ticket is valid for", words.span(compiled.approval_valid_seconds)),
        ("An expired ticket is signed again for", words.span(compiled.approval_reissue_seconds)),
        ("Largest document", f"{compiled.max_document_bytes // 1024} KiB"),
        ("Largest context", f"{compiled.max_context_tokens} tokens"),
        ("Tolerated clock difference", words.span(compiled.clock_skew_seconds)),
        ("Schemes of references", ", ".join(compiled.reference_schemes)),
        ("Documents of unknown format", compiled.opaque.value),
        ("Bodies are kept for", f"{compiled.retention_days} days"),
    ]
