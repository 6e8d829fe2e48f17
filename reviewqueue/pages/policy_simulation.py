"""Trying a draft out: begin, how far it is, and what it would have changed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.errors import InvalidInput, NotFound, ProblemError
from checkpoints.services.tally import Tally
from checkpoints.types import Outcome
from reviewqueue.models import PolicyDraft, PolicySimulation, SimulatedDifference
from reviewqueue.pages import forms, keyset, listing
from reviewqueue.pages.acts import see_other
from reviewqueue.pages.shell import PersonRequest, page, render_page, single_parameters
from reviewqueue.services import access, simulating
from reviewqueue.services.access import Act

DAYS = 30
FIELDS = forms.ALWAYS | {"days"}
NEWEST = (
    keyset.Column("received_at", keyset.read_instant, descending=True),
    keyset.Column("id", keyset.read_integer, descending=True),
)


@page(may=Act.POLICY_DRAFT, methods=("POST",))
def simulate(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    text = forms.read(request.POST, FIELDS).get("days", "")
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        message = "Choose how many days back, as a number."
        raise InvalidInput(message, errors=[ProblemError("days", "invalid", message)])
    simulating.start(draft_id=draft_id, person=request.user, days=int(text))
    return see_other(reverse("review:policy-draft", args=[draft_id]) + "#try")


@page(may=Act.POLICY_READ)
def simulation(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """The whole result: counts, codes, pairs of roles, and each handoff whose outcome would differ."""
    given = single_parameters(request.GET, known=frozenset(listing.CURSORS))
    draft = PolicyDraft.objects.select_related("author").filter(pk=draft_id).first()
    found = newest(draft) if draft else None
    if draft is None or found is None or found.tally is None:
        raise NotFound("This draft has no finished simulation. Start one on the draft’s page.")
    tally = Tally.of_json(found.tally)
    sees = access.may(request.user, Act.SEE_QUEUE)
    rows = SimulatedDifference.objects.filter(simulation=found).select_related("handoff__session")
    taken = keyset.take(rows, NEWEST, after=given.get("after", ""), before=given.get("before", ""))
    context = {
        "draft": draft,
        "simulation": summary(draft),
        "codes": [
            {
                "code": code,
                "title": CATALOGUE[code].title if code in CATALOGUE else "",
                "before": before,
                "after": after,
                "change": after - before,
            }
            for code, before, after in tally.code_rows()
        ],
        "pairs": [
            {"source": source, "target": target, "cells": _cells(before, after)}
            for source, target, before, after in tally.pair_rows()
        ],
        "outcomes": [outcome.value for outcome in Outcome],
        "sees": sees,
        "rows": [_difference(row) for row in taken.rows] if sees else [],
        **listing.around(request.path, given, taken),
    }
    return render_page(request, "policy/simulation.html", context, here="policy")


def newest(draft: PolicyDraft) -> PolicySimulation | None:
    return draft.simulations.order_by("-started_at").first()


def summary(draft: PolicyDraft) -> dict[str, Any] | None:
    """What the draft's page says of its simulation; None where nobody started one."""
    found = newest(draft)
    if found is None:
        return None
    at = simulating.progress(simulation=found)
    tally = Tally.of_json(found.tally or {})
    before, after = tally.side("before"), tally.side("after")
    return {
        "row": found,
        "running": found.finished_at is None,
        "stale": found.draft_version != draft.version,
        "share": round(at.share, 3),
        "percent": int(100 * at.share),
        "outcomes": [
            {
                "name": outcome.value,
                "before": before[outcome.value],
                "after": after[outcome.value],
                "change": after[outcome.value] - before[outcome.value],
            }
            for outcome in Outcome
        ],
        "tally": tally,
        "differing": tally.differing,
        "tag": f"{found.pk} {at.done} {found.finished_at}",
    }


def _cells(before: dict[str, int], after: dict[str, int]) -> list[dict[str, int]]:
    return [{"before": before[outcome.value], "after": after[outcome.value]} for outcome in Outcome]


def _difference(row: SimulatedDifference) -> dict[str, Any]:
    before, after = set(row.codes_before), set(row.codes_after)
    return {
        "row": row,
        "handoff": row.handoff,
        "gone": sorted(before - after),
        "new": sorted(after - before),
        "same": sorted(before & after),
        "reasons_before": [reason.replace("_", " ") for reason in row.reasons_before],
        "reasons_after": [reason.replace("_", " ") for reason in row.reasons_after],
    }
