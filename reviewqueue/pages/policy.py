"""`/policy/`: the policy in force as a person reads it, its earlier versions, and the drafts of the next one."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse

from checkpoints.errors import InvalidInput, NotFound
from checkpoints.models import PolicyVersion
from checkpoints.services.policy import active, of_version
from checkpoints.services.proposals import proposals
from checkpoints.types import JSONObject
from reviewqueue.models import PolicyDraft, User
from reviewqueue.pages import policy_reading
from reviewqueue.pages.shell import PersonRequest, page, render_page, single_parameters
from reviewqueue.services import access
from reviewqueue.services.access import Act

HISTORY = 30
DRAFTS = 50


@page(may=Act.POLICY_READ)
def policy(request: PersonRequest) -> HttpResponse:
    single_parameters(request.GET, known=frozenset())
    current = active(fresh=True)
    context = {
        **policy_reading.reading(current.document),
        "current": current,
        "history": _history(),
        "drafts": PolicyDraft.objects.filter(closed_at__isnull=True)
        .select_related("author")
        .order_by("-changed_at")[:DRAFTS],
        "proposals": proposals(policy=current.compiled),
        "drafts_allowed": access.may(request.user, Act.POLICY_DRAFT),
    }
    return render_page(request, "policy.html", context, here="policy")


@page(may=Act.POLICY_READ)
def version(request: PersonRequest, number: int) -> HttpResponse:
    """One version, and what it changed against the one before it or another that is asked for."""
    given = single_parameters(request.GET, known=frozenset({"against"}))
    against = _number(given["against"]) if given.get("against") else max(0, number - 1)
    row = PolicyVersion.objects.filter(version=number).first()
    if row is None:
        raise NotFound(f"There is no version {number} of the policy.")
    other = _document(against)
    live = active(fresh=True).version
    people = names([row.published_by, row.authored_by])
    context = {
        **policy_reading.reading(row.document),
        "row": row,
        "by": people.get(row.published_by, row.published_by),
        "author": people.get(row.authored_by, row.authored_by),
        "live": live,
        "against": against,
        "others": _others(number),
        "changes": policy_reading.differences(other, row.document),
        "drafts_allowed": access.may(request.user, Act.POLICY_DRAFT),
    }
    return render_page(request, "policy/version.html", context, here="policy")


def names(public_ids: list[str]) -> dict[str, str]:
    """Labels of people by their public id."""
    return {user.public_id: user.label for user in User.objects.filter(public_id__in=public_ids)}


def _history() -> list[dict[str, Any]]:
    rows = list(PolicyVersion.objects.order_by("-version").defer("document")[:HISTORY])
    people = names([row.published_by for row in rows])
    return [{"row": row, "by": people.get(row.published_by, row.published_by)} for row in rows]


def _others(number: int) -> list[int]:
    rows = PolicyVersion.objects.exclude(version=number).order_by("-version")
    return [*rows.values_list("version", flat=True)[:HISTORY], 0]


def _document(number: int) -> JSONObject:
    try:
        return of_version(version=number).document
    except PolicyVersion.DoesNotExist:
        raise NotFound(f"There is no version {number} of the policy.") from None


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise InvalidInput("“against” is the number of a version; 0 stands for the defaults.", status=400)
    return int(text)
