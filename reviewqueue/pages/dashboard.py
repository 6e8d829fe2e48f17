"""`/dashboard/`: is the review keeping up, why do handoffs stop, what do people decide."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.core.cache import cache
from django.db import connection
from django.db.models import Count, Q
from django.http import HttpResponse

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.errors import InvalidInput
from checkpoints.models import Decision, Handoff
from checkpoints.services import clock
from reviewqueue.pages import waiting, words
from reviewqueue.pages.shell import PersonRequest, page, render_page, single_parameters
from reviewqueue.services import access
from reviewqueue.services.access import Act

RANGES = {
    "24h": ("24 hours", timedelta(hours=24)),
    "7d": ("7 days", timedelta(days=7)),
    "30d": ("30 days", timedelta(days=30)),
}
TOP = 8
FRESH_SECONDS = (
    10  # whoever looks at the same range within them sees the same figures: each reads a week of rows
)
DECIDED = {
    "approve": "approved",
    "edit": "edited",
    "abort": "aborted",
    "send_back": "sent back",
    "escalate": "escalated",
    "reopen": "reopened",
}


@page(may=Act.DASHBOARD)
def dashboard(request: PersonRequest) -> HttpResponse:
    given = single_parameters(request.GET, known=frozenset({"range"}))
    chosen = given.get("range", "7d")
    if chosen not in RANGES:
        raise InvalidInput(f"“range” is one of {', '.join(RANGES)}.", status=400)
    at = clock.now()
    since = at - RANGES[chosen][1]
    everything = access.may(request.user, Act.AUDIT)
    decisions = Decision.objects.filter(at__gte=since)
    if not everything:
        decisions = decisions.filter(actor_id=request.user.public_id)
    context = {
        "everything": everything,
        "range": chosen,
        "ranges": [(name, label, name == chosen) for name, (label, _) in RANGES.items()],
        "decided": _decided(decisions),
    }
    if everything:
        context |= cache.get_or_set(f"dashboard:{chosen}", lambda: _overview(since, at), FRESH_SECONDS) or {}
    return render_page(request, "dashboard.html", context, here="dashboard")


def _decided(decisions: Any) -> list[dict[str, Any]]:
    counts = dict(decisions.filter(actor_kind="person").values_list("action").annotate(Count("id")))
    return _bars([(text, counts.get(name, 0), "") for name, text in DECIDED.items() if counts.get(name)])


def _overview(since: datetime, at: datetime) -> dict[str, Any]:
    open_rows = Handoff.objects.awaiting_person()
    recent = Handoff.objects.filter(received_at__gte=since)
    totals = recent.aggregate(
        received=Count("id"),
        flagged=Count("id", filter=Q(outcome="flagged")),
        rejected=Count("id", filter=Q(outcome="rejected")),
        cleared=Count("id", filter=Q(outcome="cleared")),
    )
    oldest = open_rows.order_by("flagged_at").values_list("flagged_at", flat=True).first()
    return {
        "waiting": waiting.capped_count(open_rows),
        "overdue": waiting.capped_count(open_rows.filter(review_deadline__lt=at)),
        "oldest": words.span((at - oldest).total_seconds()) if oldest else "",
        "as_of": at,
        "totals": totals,
        "times": _times(since),
        "severities": _severities(open_rows),
        "codes": _codes(since),
        "pairs": _pairs(recent),
    }


def _times(since: datetime) -> dict[str, Any]:
    """How long handoffs waited for their decision."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT count(*),
                percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM decided_at - flagged_at)),
                percentile_cont(0.9) WITHIN GROUP (ORDER BY extract(epoch FROM decided_at - flagged_at)),
                count(*) FILTER (WHERE decided_at > review_deadline)
            FROM handoff WHERE decided_at >= %s AND flagged_at IS NOT NULL
            """,
            [since],
        )
        number, median, ninety, late = cursor.fetchone()
    return {
        "number": number,
        "median": words.span(median) if number else "",
        "ninety": words.span(ninety) if number else "",
        "late": late,
    }


def _severities(open_rows: Any) -> list[dict[str, Any]]:
    counts = dict(open_rows.values_list("severity").annotate(Count("id")))
    names = {3: "High", 2: "Medium", 1: "Low", 0: "No finding"}
    return _bars([(names[rank], counts.get(rank, 0), words.SEVERITIES[rank]) for rank in names])


def _codes(since: datetime) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT code, count(*) FROM handoff, unnest(finding_codes) AS code
            WHERE received_at >= %s AND outcome IN ('flagged', 'rejected')
            GROUP BY code ORDER BY count(*) DESC, code LIMIT %s
            """,
            [since, TOP],
        )
        counted = cursor.fetchall()
    bars = _bars([(code, number, "accent") for code, number in counted])
    for bar in bars:
        entry = CATALOGUE.get(bar["label"])
        bar["title"] = entry.title if entry else "Reported by the sender"
    return bars


def _pairs(recent: Any) -> list[dict[str, Any]]:
    rows = (
        recent.exclude(outcome=None)
        .values("agent_role", "target_role")
        .annotate(number=Count("id"), stopped=Count("id", filter=~Q(outcome="cleared")))
        .order_by("-stopped", "-number")[:TOP]
    )
    return [{**row, "share": round(100 * row["stopped"] / row["number"])} for row in rows]


def _bars(counted: list[tuple[str, int, str]]) -> list[dict[str, Any]]:
    """Labels with numbers and the width of their bar, in percent of the longest."""
    longest = max((number for _, number, _ in counted), default=0) or 1
    return [
        {
            "label": label,
            "number": number,
            "tone": tone or "accent",
            "width": round(100 * number / longest, 1),
        }
        for label, number, tone in counted
    ]
