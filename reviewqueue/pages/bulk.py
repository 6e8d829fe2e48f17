"""`POST /queue/bulk/`: claim, release, reassign, and abort within one session. Nothing is ever approved in bulk.

Each item is an act of its own with its own transaction, on the content that was on the screen; one that changed
meanwhile is left out and named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from checkpoints.errors import InvalidInput, ProblemError, ReviewQueueError, StaleDecision
from checkpoints.models import AWAITING_PERSON, Handoff
from checkpoints.services import clock
from checkpoints.types import State
from reviewqueue.models import User
from reviewqueue.pages import forms, words
from reviewqueue.pages.acts import see_other
from reviewqueue.pages.review import ADVICES
from reviewqueue.pages.rows import QueueRow, queue_row
from reviewqueue.pages.shell import PersonRequest, actor, page, render_page
from reviewqueue.services import claiming, deciding
from reviewqueue.services.access import ALLOWED, Act, may, require

FIELDS = forms.ALWAYS | {"act", "confirmed", "reason", "to", "advice"}
DONE = {"claim": "claimed", "release": "released", "reassign": "given to {to}", "abort": "aborted"}
ASKED_FIRST = ("reassign", "abort")
MOST = 100


@dataclass(frozen=True, slots=True)
class Chosen:
    """An item as its row showed it when somebody ticked it."""

    handoff_id: UUID
    version: int
    content_digest: str

    def __str__(self) -> str:
        return f"{self.handoff_id}:{self.version}:{self.content_digest}"


@dataclass(frozen=True, slots=True)
class Line:
    """An item on the page that asks. `changed` says why it will be left out, "" where it will not."""

    row: QueueRow
    chosen: Chosen
    changed: str


@page(may=Act.CLAIM, methods=("POST",))
def bulk(request: PersonRequest) -> HttpResponse:
    ticked = request.POST.getlist("item")
    posted = request.POST.copy()
    posted.pop("item", None)
    values = forms.read(posted, FIELDS)
    act = values.get("act", "")
    if act not in DONE:
        raise InvalidInput(f"“act” is one of {', '.join(DONE)}.", slug="invalid-form")
    chosen = read_chosen(ticked)
    if act == "abort":
        require(request.user, Act.DECIDE)
    try:
        if act in ASKED_FIRST:
            _refuse_mixed(act, chosen)
            if not values.get("confirmed"):
                return _ask(request, act, chosen, forms.Typed())
            _refuse_incomplete(act, values)
        done, left_out = _carry_out(request, act, chosen, values)
    except ReviewQueueError as error:
        if act not in ASKED_FIRST:
            raise
        return _ask(request, act, chosen, forms.typed(posted, error), problem=error)
    _tell(request, act, done, left_out, values)
    return see_other(_next(request))


def read_chosen(ticked: Sequence[str]) -> list[Chosen]:
    """The ticked rows, `id:version:digest` each. Raises InvalidInput (422) for none, too many or damaged ones."""
    if not ticked:
        raise InvalidInput("Nothing is ticked. Tick the rows first.", slug="invalid-form")
    if len(ticked) > MOST:
        raise InvalidInput(f"At most {MOST} at once.", slug="invalid-form")
    found = []
    for text in dict.fromkeys(ticked):
        name, _, rest = text.partition(":")
        version, _, digest = rest.partition(":")
        try:
            found.append(Chosen(UUID(name), int(version[:18]), digest))
        except ValueError:
            raise InvalidInput(
                "A ticked row cannot be read. Open the queue again.", slug="invalid-form"
            ) from None
    return found


def _refuse_mixed(act: str, chosen: Sequence[Chosen]) -> None:
    if act != "abort":
        return
    ids = [item.handoff_id for item in chosen]
    if Handoff.objects.filter(pk__in=ids).values("session").distinct().count() > 1:
        text = "Handoffs are aborted together only within one session: filter by session: first."
        raise InvalidInput(text, slug="invalid-form", errors=[ProblemError("item", "mixed", text)])


def _refuse_incomplete(act: str, values: dict[str, str]) -> None:
    if act == "abort" and not values.get("reason", "").strip():
        raise claiming.reason_problem("Say why they are aborted. The sender reads it.")
    if act == "reassign":
        _receiver(values)


def _receiver(values: dict[str, str]) -> User:
    found = User.objects.filter(public_id=values.get("to", "")).first()
    if found is None or not may(found, Act.CLAIM):
        text = (
            f"{found.label} cannot decide. Choose somebody else." if found else "Choose who shall have them."
        )
        raise InvalidInput(text, slug="invalid-form", errors=[ProblemError("to", "required", text)])
    return found


def _carry_out(
    request: PersonRequest, act: str, chosen: Sequence[Chosen], values: dict[str, str]
) -> tuple[int, Counter[str]]:
    """How many were done, and why the others were not."""
    work = _act(request, act, values)
    done, left_out = 0, Counter[str]()
    for item in chosen:
        try:
            work(item)
        except StaleDecision as error:
            winner = error.extra.get("winner")
            decided = winner and error.extra.get("state") not in AWAITING_PERSON
            left_out[f"{winner} decided it meanwhile" if decided else "it changed meanwhile"] += 1
        except ReviewQueueError as error:
            left_out[error.detail.rstrip(".")] += 1
        else:
            done += 1
    return done, left_out


def _act(request: PersonRequest, act: str, values: dict[str, str]) -> Callable[[Chosen], object]:
    who, trace = request.user, actor(request)
    reason = values.get("reason", "")
    if act == "claim":
        return lambda item: claiming.claim(handoff_id=item.handoff_id, reviewer=who, request=trace)
    if act == "release":
        return lambda item: claiming.release(handoff_id=item.handoff_id, reviewer=who, request=trace)
    if act == "reassign":
        to = _receiver(values)
        return lambda item: claiming.reassign(
            handoff_id=item.handoff_id, by=who, to=to, reason=reason, request=trace
        )
    return lambda item: deciding.decide(
        handoff_id=item.handoff_id,
        reviewer=who,
        form=deciding.DecisionForm(
            action="abort",
            content_digest=item.content_digest,
            version=item.version,
            reason=reason,
            advice=values.get("advice") or "none",
        ),
        request=trace,
    )


def _tell(
    request: PersonRequest, act: str, done: int, left_out: Counter[str], values: dict[str, str]
) -> None:
    did = DONE[act].format(to=_receiver(values).label) if act == "reassign" else DONE[act]
    parts = [f"{done} {did}."] if done else []
    parts += [f"{count} left out: {why}." for why, count in left_out.items()]
    (messages.warning if left_out else messages.success)(request, " ".join(parts))


def _ask(
    request: PersonRequest,
    act: str,
    chosen: Sequence[Chosen],
    typed: forms.Typed,
    problem: ReviewQueueError | None = None,
) -> HttpResponse:
    """The page that names each item and what will happen, before anything does."""
    rows = (
        Handoff.objects.with_names()
        .select_related("claim__holder")
        .in_bulk([item.handoff_id for item in chosen])
    )
    at = clock.now()
    lines = [
        Line(queue_row(handoff, request.user, at), item, _changed(handoff, item))
        for item in chosen
        if (handoff := rows.get(item.handoff_id)) is not None
    ]
    context: dict[str, Any] = {
        "act": act,
        "lines": lines,
        "count": sum(not line.changed for line in lines),
        "typed": typed,
        "problem": problem,
        "next": _next(request),
        "advices": ADVICES,
        "people": _people(request) if act == "reassign" else [],
    }
    return render_page(request, "bulk.html", context, here="queue", status=problem.status if problem else 200)


def _changed(handoff: Handoff, item: Chosen) -> str:
    if handoff.state not in AWAITING_PERSON:
        return f"now {words.STATES[State(handoff.state)].lower()}"
    if (handoff.version, handoff.content_digest) != (item.version, item.content_digest):
        return "changed since you ticked it"
    return ""


def _people(request: PersonRequest) -> list[User]:
    roles = [role for role, acts in ALLOWED.items() if Act.CLAIM in acts]
    return list(User.objects.filter(is_active=True, role__in=roles).order_by("username")[:200])


def _next(request: PersonRequest) -> str:
    wanted = request.POST.get("next", "")
    ours = wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, {request.get_host()})
    return wanted if ours else reverse("review:queue")
