"""The handoff resource (contract §3): one shape for every answer that shows a handoff."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any
from urllib.parse import quote
from uuid import UUID

import orjson
from django.conf import settings
from django.http import HttpResponse

from checkpoints.api.endpoint import JSON
from checkpoints.models import AWAITING_PERSON, Attempt, CheckRun, Decision, Handoff, Orchestrator
from checkpoints.services.deadlines import settle
from checkpoints.types import Finding, JSONObject, JSONValue, Severity, State, rfc3339

_SAFE = "._:@+=~-"  # of the characters that an id may have; none needs escaping in a path
FINDING_MEMBERS = tuple(item.name for item in fields(Finding))
_WORST_FIRST = {severity.value: -severity.rank for severity in Severity}


def one(*, orchestrator: Orchestrator, checkpoint_id: str) -> Handoff | None:
    """An orchestrator's handoff with its names and its deadlines settled, or None."""
    rows = Handoff.objects.of(orchestrator).with_names().read_now().filter(checkpoint_id=checkpoint_id)
    found = rows.first()
    if found is not None and settle(handoff=found, at=found.read_at):
        found = rows.first()
    return found


def resource(handoff: Handoff) -> JSONObject:
    """One handoff as the API shows it."""
    return resources([handoff])[0]


def resources(handoffs: Sequence[Handoff]) -> list[JSONObject]:
    """Handoffs as the API shows them, with at most three queries for all of them together."""
    judged = [item.pk for item in handoffs if item.checked_at is not None]
    decided = [item.pk for item in handoffs if item.checked_at is not None and item.state != State.CLEARED]
    sent = [item.pk for item in handoffs if item.last_attempt]
    runs = _newest_runs(judged)
    decisions: dict[UUID, list[Decision]] = defaultdict(list)
    attempts: dict[UUID, list[Attempt]] = defaultdict(list)
    if decided:
        for decision in Decision.objects.filter(handoff_id__in=decided).order_by("at"):
            decisions[decision.handoff_id].append(decision)
    if sent:
        for attempt in Attempt.objects.filter(handoff_id__in=sent).order_by("number"):
            attempts[attempt.handoff_id].append(attempt)
    return [
        _shown(item, runs.get((item.pk, item.revision)), decisions[item.pk], attempts[item.pk])
        for item in handoffs
    ]


def entity_tag(body: bytes) -> str:
    """A strong ETag: equal bytes, equal tag."""
    return f'"{hashlib.sha256(body).hexdigest()[:32]}"'


def resource_answer(
    shown: JSONObject, *, status: int = 200, headers: dict[str, str] | None = None
) -> HttpResponse:
    """The answer that carries one resource, with its ETag."""
    body = orjson.dumps(shown)
    tagged = {"ETag": entity_tag(body), "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    return HttpResponse(body, status=status, content_type=JSON, headers=tagged | (headers or {}))


def address(handoff: Handoff, *parts: str) -> str:
    """The absolute address of a handoff in the API."""
    path = "/".join(["api/v1/handoffs", quote(handoff.checkpoint_id, safe=_SAFE), *parts])
    return f"{settings.PUBLIC_URL}/{path}"


def _newest_runs(ids: Iterable[UUID]) -> dict[tuple[UUID, int], CheckRun]:
    """The last check run of each revision of these handoffs."""
    wanted = list(ids)
    if not wanted:
        return {}
    runs = CheckRun.objects.filter(handoff_id__in=wanted).order_by("finished_at")
    return {(run.handoff_id, run.revision): run for run in runs}


def _shown(
    handoff: Handoff, run: CheckRun | None, decisions: Sequence[Decision], attempts: Sequence[Attempt]
) -> JSONObject:
    # jsonb keeps members in an order of its own.
    kept = sorted(run.findings, key=_finding_order) if run else []
    findings: list[JSONValue] = [{name: finding[name] for name in FINDING_MEMBERS} for finding in kept]
    waits = handoff.state in AWAITING_PERSON
    return {
        "checkpoint_id": handoff.checkpoint_id,
        "session_id": handoff.session.session_id,
        "handoff_sequence": handoff.handoff_sequence,
        "format": handoff.format,
        "source_id": handoff.source_id,
        "agent_id": handoff.agent_id,
        "agent_role": handoff.agent_role,
        "target_role": handoff.target_role,
        "task_id": handoff.task_id,
        "risk_level": handoff.risk or handoff.sender_risk,
        "human_approval_required": handoff.human_approval_required,
        "state": handoff.state,
        "verdict": _verdict(handoff, run),
        "findings": findings,
        "warnings": [item for item in findings if isinstance(item, dict) and item["disposition"] == "warn"],
        "revision": handoff.revision,
        "revises": handoff.revision - 1 or None,
        "content_digest": handoff.content_digest,
        "body_digest": handoff.body_digest,
        "approvals": {"required": handoff.approvals_required, "given": handoff.approvals_given},
        "approval_ticket_reference": handoff.approval_ticket_reference,
        "sender_ticket_reference": handoff.sender_ticket_reference,
        "decisions": [_decision(item) for item in decisions],
        "attempts": [_attempt(item) for item in attempts],
        "max_retries": handoff.max_retries,
        "retries_left": handoff.retries_left,
        "not_before": _time(handoff.not_before),
        "review_deadline": _time(handoff.review_deadline) if waits else None,
        "received_at": rfc3339(handoff.received_at),
        "links": {
            "self": address(handoff),
            "review": f"{settings.PUBLIC_URL}/handoffs/{handoff.pk}/",
            "body": address(handoff, "body"),
            "session": f"{settings.PUBLIC_URL}/api/v1/sessions/{quote(handoff.session.session_id, safe=_SAFE)}",
        },
    }


def _finding_order(finding: dict[str, Any]) -> tuple[int, str, str]:
    return _WORST_FIRST[finding["severity"]], finding["code"], finding["pointer"]


def _verdict(handoff: Handoff, run: CheckRun | None) -> JSONValue:
    if run is None or handoff.checked_at is None:
        return None
    return {
        "outcome": handoff.outcome,
        "reasons": list(handoff.reasons),
        "checked_at": rfc3339(run.finished_at),
        "policy_version": handoff.policy_version,
        "document_tokens": run.document_tokens,
        "context_tokens": run.context_tokens,
    }


def _decision(decision: Decision) -> JSONObject:
    return {
        "action": decision.action,
        "by": {"id": decision.actor_id, "label": decision.actor_label},
        "role": decision.role,
        "reason": decision.reason,
        "at": rfc3339(decision.at),
        "revision": decision.revision,
        "content_digest": decision.content_digest,
        "answers": decision.answers,
        "reconciliations": decision.reconciliations,
        "advice": decision.advice,
        "question": decision.question,
        "external_ticket": decision.external_ticket,
    }


def _attempt(attempt: Attempt) -> JSONObject:
    return {
        "number": attempt.number,
        "dispatched_at": rfc3339(attempt.dispatched_at),
        "acknowledge_by": rfc3339(attempt.acknowledge_by),
        "ended_at": _time(attempt.ended_at),
        "outcome": attempt.outcome,
    }


def _time(at: Any) -> str | None:
    return rfc3339(at) if at is not None else None
