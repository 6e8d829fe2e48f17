"""`/audit/`: who did what, newest first. Managers read everything, operators their own acts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from django.urls import reverse

from checkpoints.errors import InvalidInput
from checkpoints.models import AuditEntry, Handoff
from checkpoints.services import sealing
from checkpoints.services.clock import now
from reviewqueue.pages import keyset, listing
from reviewqueue.pages.shell import PersonRequest, page, render_page, single_parameters
from reviewqueue.services import access
from reviewqueue.services.access import Act

NEWEST = (
    keyset.Column("at", keyset.read_instant, descending=True),
    keyset.Column("id", keyset.read_text, descending=True),
)
FILTERS = ("actor", "action", "subject", "from", "to")
# Participles that read badly on their own.
VERBS = {
    "approved_first": "approved as the first of two",
    "body_read": "read the body of",
    "withdrawn": "took the approval back of",
    "received": "posted",
    "ticket_expired": "let the ticket expire of",
    "recheck_failed": "found a fault on re-checking",
}
LATE_SECONDS = 60  # a sealer works every two seconds: after this, none runs
SHOWN = 4000  # characters of before or after


@page(may=Act.OWN_AUDIT)
def audit(request: PersonRequest) -> HttpResponse:
    given = single_parameters(request.GET, known=frozenset({*FILTERS, *listing.CURSORS}))
    wanted = listing.texts(given, FILTERS)
    everything = access.may(request.user, Act.AUDIT)
    rows = AuditEntry.objects.select_related("text", "leaf")
    if not everything:
        rows = rows.filter(actor_kind="person", actor_id=request.user.public_id)
    found = keyset.take(
        _matching(rows, wanted), NEWEST, after=given.get("after", ""), before=given.get("before", "")
    )
    path = reverse("review:audit")
    context = {
        "everything": everything,
        "days": _by_day(_rows(found.rows)),
        "given": wanted,
        "seal": _seal() if everything else None,
        "chips": listing.chips(path, given, FILTERS),
        **listing.around(path, given, found),
    }
    return render_page(request, "audit.html", context, here="audit")


def _seal() -> dict[str, Any]:
    """The newest head in words of the page, and how long entries have waited for the next."""
    waiting = sealing.unsealed_seconds()
    return {
        "head": sealing.newest(),
        "late_since": now() - timedelta(seconds=waiting) if waiting > LATE_SECONDS else None,
    }


def _matching(rows: QuerySet[AuditEntry], wanted: dict[str, str]) -> QuerySet[AuditEntry]:
    if wanted["actor"]:
        rows = rows.filter(Q(actor_id=wanted["actor"]) | Q(text__label=wanted["actor"]))
    if wanted["action"]:
        rows = rows.filter(action=wanted["action"])
    if wanted["subject"]:
        kind, _, identifier = wanted["subject"].rpartition(":")
        rows = rows.filter(subject_id=identifier, **({"subject_kind": kind} if kind else {}))
    if wanted["from"]:
        rows = rows.filter(at__gte=_instant("from", wanted["from"]))
    if wanted["to"]:
        end = _instant("to", wanted["to"])
        # A day without a time means the whole day.
        rows = (
            rows.filter(at__lt=end + timedelta(days=1))
            if len(wanted["to"]) == 10
            else rows.filter(at__lte=end)
        )
    return rows


def _instant(name: str, text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
        return at if at.tzinfo else at.replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidInput(
            f"“{name}” is a day such as 2026-11-30, or a time with its zone.", status=400
        ) from error


def _rows(entries: Sequence[AuditEntry]) -> list[dict[str, Any]]:
    """The entries with the titles of the handoffs they speak of."""
    ids = {entry.subject_id for entry in entries if entry.subject_kind == "handoff"}
    titles = {str(pk): title for pk, title in Handoff.objects.filter(pk__in=ids).values_list("pk", "title")}
    return [_row(entry, titles.get(entry.subject_id, "")) for entry in entries]


def _row(entry: AuditEntry, title: str) -> dict[str, Any]:
    text = getattr(entry, "text", None)
    handoff = entry.subject_id if entry.subject_kind == "handoff" else ""
    return {
        "entry": entry,
        "actor": text.label if text else entry.actor_id,
        "erased": text is None,
        "action": _verb(entry),
        "reason": (text.reason if text else "") or "",
        "before": _pretty(text.before) if text else "",
        "after": _pretty(text.after) if text else "",
        "handoff": handoff,
        "title": title,
    }


def _verb(entry: AuditEntry) -> str:
    """The action as a verb before its subject; the subject's own noun is not said twice."""
    noun, _, participle = entry.action.partition(".")
    words = VERBS.get(participle, participle.replace("_", " "))
    return words if noun == entry.subject_kind else f"{noun} {words}"


def _pretty(value: Any) -> str:
    if value is None:
        return ""
    text = json.dumps(value, ensure_ascii=False, indent=1)
    return text if len(text) <= SHOWN else text[:SHOWN] + "\n…"


def _by_day(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    days: list[dict[str, Any]] = []
    for row in rows:
        day = row["entry"].at.date()
        if not days or days[-1]["day"] != day:
            days.append({"day": day, "rows": []})
        days[-1]["rows"].append(row)
    return days
