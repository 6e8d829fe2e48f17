"""`/handoffs/{id}/`: one handoff with everything a decision needs, and the decision's answer page."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from checkpoints.errors import InvalidInput, NotFound, ReviewQueueError
from checkpoints.formats import FORMATS, reread
from checkpoints.models import AWAITING_PERSON, CheckpointBody, Decision, Handoff
from checkpoints.services import clock
from checkpoints.services.policy import of_version
from checkpoints.types import CheckPolicy, State, Submission
from reviewqueue.pages import (
    advancing,
    comments,
    comparing,
    findings,
    hashes,
    keeping,
    pacing,
    panel,
    resuming,
    snapshot,
    tree,
    verdict,
    words,
)
from reviewqueue.pages.forms import Typed
from reviewqueue.pages.rows import QueueRow, live_claim, queue_row
from reviewqueue.pages.shell import (
    PersonRequest,
    actor,
    is_partial,
    page,
    render_page,
    single_parameters,
    unchanged,
)
from reviewqueue.services.access import Act
from reviewqueue.services.commenting import mark_mentions_read
from reviewqueue.services.edit_drafts import others_editing
from reviewqueue.services.reading import record_reading
from reviewqueue.services.viewing import newest_run, opened_findings

OUTCOMES = (
    ("happened", "It happened"),
    ("did_not_happen", "It did not happen"),
    ("unknown", "Still unknown"),
)
ADVICES = (
    ("none", "decide itself"),
    ("restart", "restart from the last good checkpoint"),
    ("fallback", "use the fallback agent"),
)
NEIGHBOURS = 4  # handoffs of the session shown before and after this one


@page(may=Act.SEE_QUEUE)
def detail(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    handoff = find(handoff_id)
    at = clock.now()
    if is_partial(request):
        return _live(request, handoff, at)
    if request.method == "GET":
        record_reading(handoff_id=handoff.pk, reader=request.user, request=actor(request))
        mark_mentions_read(handoff=handoff, reader=request.user)
    return show(request, handoff, at)


@page(may=Act.READ_BODIES)
def node(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    """A part of a large document: the value at a pointer, from one of its children on."""
    given = single_parameters(request.GET, known=frozenset({"at", "from"}))
    handoff = find(handoff_id)
    record_reading(handoff_id=handoff.pk, reader=request.user, request=actor(request))
    submission = read_submission(handoff)
    start = given.get("from", "0")
    if not (start.isascii() and start.isdigit() and len(start) < 8):
        raise InvalidInput("“from” is the number of an entry.", status=400)
    try:
        value = tree.at(submission.payload, given.get("at", "")) if submission else None
    except LookupError:
        raise NotFound("The document has nothing at this place.") from None
    pointer = given.get("at", "")
    context = {
        "handoff": handoff,
        "pointer": pointer,
        "start": int(start),
        "lines": tree.lines(value, root=pointer, start=int(start)),
    }
    return render_page(request, "node.html", context, here="queue")


def find(handoff_id: UUID) -> Handoff:
    """Raises NotFound (404)."""
    rows = Handoff.objects.with_names().select_related("claim__holder")
    found: Handoff | None = rows.filter(pk=handoff_id).first()
    if found is None:
        raise NotFound("There is no such handoff.")
    return found


def show(
    request: PersonRequest,
    handoff: Handoff,
    at: datetime,
    *,
    typed: Typed | None = None,
    problem: ReviewQueueError | None = None,
    status: int = 200,
) -> HttpResponse:
    """The page; after a refused decision with the panel that says why, and the typed text kept."""
    kept = keeping.kept_for(request, handoff) if typed is None else None
    context = {
        **_context(request, handoff, at),
        "typed": typed or (kept.typed if kept else Typed()),
        "problem": problem_view(problem),
        "resumed": ("same" if kept.same else "changed") if kept else "",
        "pace": pacing.card(request, at),
        "fresh": bool(kept) and keeping.factor_is_fresh(request),
    }
    return render_page(
        request,
        "handoff.html",
        context,
        here="queue" if context["panel"].waits else "handoffs",
        status=status,
    )


def _context(request: PersonRequest, handoff: Handoff, at: datetime) -> dict[str, Any]:
    policy = of_version(version=handoff.policy_version or 0).compiled
    decisions = list(handoff.decisions.order_by("-at"))
    attempts = list(handoff.attempts.order_by("number"))
    body = read_body(handoff)
    submission = reread(body) if body is not None else None
    opened = opened_findings(handoff=handoff, user=request.user)
    found = findings.for_reader(findings.shown(newest_run(handoff)), handoff, opened)
    view = panel.build(handoff, request.user, policy, decisions, live_claim(handoff, at), at)
    return {
        **live_context(request, handoff, view, at),
        "verdict": verdict.verdict(
            handoff, submission.facts if submission else None, found, decisions, attempts, at
        ),
        "consequence": verdict.consequence(handoff, found, policy),
        "format": FORMATS[handoff.format],
        "facts": _facts(handoff, submission, policy),
        "findings": found,
        "submission": submission,
        "unopened": [item for item in found if item.severity == "high" and not item.opened],
        "outcomes": OUTCOMES,
        "advices": ADVICES,
        **_document(submission, body, found),
        "comparison": comparing.at_once(handoff) if submission else None,
        "choices": comparing.choices(handoff),
        "comments": comments.shown(handoff, request.user),
        "decisions": _shown_decisions(decisions, request, view),
        "attempts": attempts,
        "session": _session(handoff),
        "tickets": handoff.tickets.order_by("-issued_at"),
        "row": queue_row(handoff, request.user, at),
        "following": None if view.waits or not view.decides else _following(request, at),
        "revisions": handoff.checkpoints.exclude(revision=1).order_by("revision"),
    }


def _document(
    submission: Submission | None, body: bytes | None, found: Sequence[findings.ShownFinding]
) -> dict[str, Any]:
    """What the page shows of the document itself; empty where its body is gone."""
    if submission is None or body is None:
        return {
            "hashes": [],
            "sections": [],
            "questions": [],
            "unknown_effects": (),
            "resume": [],
            "lines": [],
            "envelope": [],
        }
    envelope = {name: value for name, value in submission.envelope.items() if name != "payload"}
    return {
        "hashes": hashes.comparisons(submission, body),
        "sections": snapshot.sections(submission),
        "questions": snapshot.questions(submission),
        "unknown_effects": submission.facts.needs_reconciliation,
        "resume": resuming.sentences(submission),
        "lines": tree.lines(submission.payload, marks=findings.marks(found)),
        "envelope": tree.lines(envelope, root="/") if envelope else [],
    }


def read_submission(handoff: Handoff) -> Submission | None:
    """The current revision read from its exact bytes; None where retention deleted them."""
    content = read_body(handoff)
    return None if content is None else reread(content)


def read_body(handoff: Handoff) -> bytes | None:
    """The exact bytes of the current revision; None where retention deleted them."""
    content = (
        CheckpointBody.objects.filter(checkpoint__handoff=handoff, checkpoint__revision=handoff.revision)
        .values_list("content", flat=True)
        .first()
    )
    return None if content is None else bytes(content)


def live_context(request: PersonRequest, handoff: Handoff, view: panel.Panel, at: datetime) -> dict[str, Any]:
    """What the poll of the page may replace: never the form that somebody is typing into."""
    place = advancing.place_of(request)
    return {
        "handoff": handoff,
        "panel": view,
        "state_words": words.STATES[State(handoff.state)],
        "writers": [draft.author for draft in others_editing(handoff=handoff, user=request.user)],
        "now": at,
        "place": place,
        "later": _later(handoff),
        "here": reverse("review:detail", args=[handoff.pk]) + (place.suffix if place else ""),
    }


def _live(request: PersonRequest, handoff: Handoff, at: datetime) -> HttpResponse:
    claim = live_claim(handoff, at)
    later = _later(handoff)
    parts = (
        later and later.pk,
        handoff.pk,
        handoff.version,
        claim and (claim.holder_id, claim.expires_at),
        request.user.public_id,
        [draft.author_id for draft in others_editing(handoff=handoff, user=request.user)],
    )
    tag = '"' + hashlib.sha256(repr(parts).encode()).hexdigest()[:24] + '"'
    if (same := unchanged(request, tag)) is not None:
        return same
    policy = of_version(version=handoff.policy_version or 0).compiled
    decisions = list(handoff.decisions.order_by("-at"))
    view = panel.build(handoff, request.user, policy, decisions, claim, at)
    context = {**live_context(request, handoff, view, at), "last": decisions[0] if decisions else None}
    response = render(request, "handoff.html#live", context)
    response.headers["ETag"] = tag
    return response


def _later(handoff: Handoff) -> Handoff | None:
    """The newest checkpoint of the same session and task after this one, where this one still waits."""
    if handoff.state not in AWAITING_PERSON:
        return None
    rows = Handoff.objects.filter(session=handoff.session, handoff_sequence__gt=handoff.handoff_sequence)
    return rows.filter(task_id=handoff.task_id).order_by("-handoff_sequence").first()


def _following(request: PersonRequest, at: datetime) -> QueueRow | None:
    """Where to go from a handoff that is decided."""
    found = advancing.next_of(advancing.place_of(request), request.user, at)
    return queue_row(found, request.user, at) if found else None


def _facts(handoff: Handoff, submission: Submission | None, policy: CheckPolicy) -> dict[str, Any]:
    """Counted or compared by us; nothing here is a claim of the agent."""
    facts = submission.facts if submission else None
    body = handoff.checkpoints.filter(revision=handoff.revision).first()
    return {
        "status": facts.task_status if facts else None,
        "steps": len(facts.completed_step_ids) if facts else 0,
        "calls": len(facts.call_ids) if facts else 0,
        "unknown": len(facts.needs_reconciliation) if facts else 0,
        "size": body.size if body else 0,
        "retries": f"{handoff.retries_left} of {handoff.max_retries}",
        "risk": handoff.risk or policy.risk_default.value,
        "sender_risk": handoff.sender_risk,
    }


def _shown_decisions(
    decisions: Sequence[Decision], request: PersonRequest, view: panel.Panel
) -> list[dict[str, Any]]:
    """The second approver does not read the first one's reason before they have chosen."""
    hidden = {item.pk for item in view.approvals} if view.can_approve and view.missing else set()
    return [
        {"decision": item, "hide_reason": item.pk in hidden, "yours": item.actor_id == request.user.public_id}
        for item in decisions
    ]


def _session(handoff: Handoff) -> dict[str, Any]:
    rows = Handoff.objects.filter(session=handoff.session)
    columns = ("id", "handoff_sequence", "agent_role", "target_role", "state")
    here = handoff.handoff_sequence
    before = list(
        rows.filter(handoff_sequence__lt=here)
        .order_by("-handoff_sequence")
        .values(*columns)[: NEIGHBOURS + 1]
    )
    after = list(
        rows.filter(handoff_sequence__gt=here).order_by("handoff_sequence").values(*columns)[: NEIGHBOURS + 1]
    )
    near = [*reversed(before[:NEIGHBOURS]), *rows.filter(pk=handoff.pk).values(*columns), *after[:NEIGHBOURS]]
    for item in near:
        item["words"] = words.STATES[State(item["state"])].lower()
        item["here"] = item["id"] == handoff.pk
    return {
        "near": near,
        "more_before": len(before) > NEIGHBOURS,
        "more_after": len(after) > NEIGHBOURS,
        "name": handoff.session.session_id,
    }


def problem_view(error: ReviewQueueError | None) -> dict[str, Any] | None:
    if error is None:
        return None
    titles = {
        409: "Your decision was not carried out",
        403: "Confirm that it is you" if error.extra.get("step_up") else "You may not decide this way",
        422: "Something is missing or does not fit",
        429: "That was too fast",
        503: "This cannot be done right now",
    }
    return {
        "title": titles.get(error.status, "This cannot be done"),
        "detail": error.detail,
        "status": error.status,
        # One fault is said by the detail already.
        "errors": [asdict(item) for item in error.errors] if len(error.errors) > 1 else [],
        "decided": bool(error.extra.get("winner")) and error.extra.get("state") not in AWAITING_PERSON,
        **{name: error.extra.get(name) for name in ("winner", "action", "at", "holder", "step_up")},
    }
