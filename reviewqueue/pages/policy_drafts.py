"""`/policy/drafts/…`: begin, edit by form or as JSON, try out, publish, discard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from checkpoints.canonical import parse
from checkpoints.errors import (
    InvalidInput,
    NotAllowed,
    NotFound,
    ProblemError,
    Refused,
    ReviewQueueError,
)
from checkpoints.models import PolicyVersion
from checkpoints.policies import doubts
from checkpoints.services.policy import active, of_version
from checkpoints.types import Disposition, JSONObject, Limits
from reviewqueue.models import PolicyDraft
from reviewqueue.pages import forms, policy_form, policy_reading, policy_simulation
from reviewqueue.pages.acts import see_other
from reviewqueue.pages.editing import visible_json
from reviewqueue.pages.policy_fields import PREFIXES
from reviewqueue.pages.shell import (
    PersonRequest,
    actor,
    is_partial,
    page,
    render_page,
    single_parameters,
    unchanged,
)
from reviewqueue.services import access, drafting
from reviewqueue.services.access import Act

BEGIN = forms.ALWAYS | {"code", "disposition", "decisions", "from_version"}
SEEN = forms.ALWAYS | {"version"}
WRITTEN = SEEN | {"note", "document"}


@page(may=Act.POLICY_DRAFT, methods=("POST",))
def begin(request: PersonRequest) -> HttpResponse:
    """A draft from the policy in force, from an earlier version, or with a rule that decisions propose."""
    values = forms.read(request.POST, BEGIN)
    document, note = _beginning(values)
    draft = drafting.begin(author=request.user, document=document, note=note, request=actor(request))
    messages.success(request, "This draft is yours. Nothing is in force before another person publishes it.")
    return _to(draft.pk)


def _beginning(values: dict[str, str]) -> tuple[JSONObject | None, str]:
    code, disposition, number = (values.get(name, "") for name in ("code", "disposition", "from_version"))
    if code:
        if disposition not in Disposition:
            raise InvalidInput(f"“disposition” is one of {', '.join(Disposition)}.")
        live = active(fresh=True).document
        checks: dict[str, Any] = dict(live.get("checks") or {})  # type: ignore[arg-type]
        checks[code] = {**checks.get(code, {}), "disposition": disposition}
        return {**live, "checks": checks}, f"{code}: people decided the same each time."
    if number:
        try:
            return of_version(version=_integer(number, "from_version")).document, f"Back to version {number}."
        except PolicyVersion.DoesNotExist:
            raise NotFound(f"There is no version {number} of the policy.") from None
    return None, ""


@page(may=Act.POLICY_READ)
def draft(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    found = find(draft_id)
    single_parameters(request.GET, known=frozenset())
    if not is_partial(request):
        return _show(request, found)
    simulation = policy_simulation.summary(found)
    tag = _tag(found, simulation)
    if (answer := unchanged(request, tag)) is not None:
        return answer
    context = {"draft": found, "simulation": simulation, **_rights(request, found)}
    response = render(request, "policy/simulating.html", context)
    response.headers["ETag"] = tag
    return response


def _tag(found: PolicyDraft, simulation: dict[str, Any] | None) -> str:
    state = f"{found.pk} {found.version} {simulation['tag'] if simulation else ''}"
    return f'"{hashlib.sha256(state.encode()).hexdigest()[:32]}"'


def _rights(request: PersonRequest, found: PolicyDraft) -> dict[str, Any]:
    own = found.author_id == request.user.pk
    is_open = found.closed_at is None
    publishes = access.may(request.user, Act.POLICY_PUBLISH)
    return {
        "own": own,
        "open": is_open,
        "may_edit": is_open and own and access.may(request.user, Act.POLICY_DRAFT),
        "may_publish": is_open and publishes and not own,
        "may_discard": is_open and (own or publishes),
        "publishes": publishes,
    }


def _show(
    request: PersonRequest, found: PolicyDraft, *, problem: ReviewQueueError | None = None, status: int = 200
) -> HttpResponse:
    live = active(fresh=True)
    context = {
        **policy_reading.reading(found.document),
        **_rights(request, found),
        "draft": found,
        "live": live,
        "behind": found.closed_at is None and live.version != found.based_on,
        "changes": policy_reading.differences(live.document, found.document),
        "since": _since(found.based_on, live.document) if live.version != found.based_on else [],
        "fits": policy_form.fits(found.document),
        "doubts": doubts(found.document),
        "simulation": policy_simulation.summary(found),
        "days": policy_simulation.DAYS,
        "problem": problem,
    }
    return render_page(request, "policy/draft.html", context, here="policy", status=status)


def _since(based_on: int, live: JSONObject) -> list[dict[str, Any]]:
    return policy_reading.differences(of_version(version=based_on).document, live)


@page(may=Act.POLICY_DRAFT, methods=("GET", "POST"))
def edit(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """The usual things as a form."""
    found = _own(request, draft_id)
    if request.method != "POST":
        return _form(request, found, policy_form.values_of(found.document), {})
    values = forms.read(request.POST, WRITTEN, prefixes=PREFIXES)
    built = policy_form.build(values, original=found.document)
    try:
        if built.errors:
            raise InvalidInput("The draft was not saved.", slug="invalid-form", errors=built.errors)
        _save(request, draft_id, built.document, values)
    except NotFound:
        raise
    except ReviewQueueError as error:
        places = {**built.places, **{item.pointer: item.pointer for item in built.errors}, "note": "note"}
        located = policy_form.located([*error.errors], places)
        return _form(request, find(draft_id), values, located, problem=error, status=error.status)
    return _saved(request, draft_id)


@page(may=Act.POLICY_DRAFT, methods=("GET", "POST"))
def document(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    """The whole document as JSON."""
    found = _own(request, draft_id)
    if request.method != "POST":
        return _text(request, found, json.dumps(found.document, ensure_ascii=False, indent=2), found.note)
    values = forms.read(request.POST, WRITTEN)
    try:
        _save(request, draft_id, _parsed(values.get("document", "")), values)
    except NotFound:
        raise
    except ReviewQueueError as error:
        text, note = values.get("document", ""), values.get("note", "")
        return _text(request, find(draft_id), text, note, problem=error, status=error.status)
    return _saved(request, draft_id)


def _parsed(text: str) -> JSONObject:
    try:
        return parse(text.encode("utf-8", "surrogatepass"), Limits())
    except Refused as refused:
        errors = refused.errors or (ProblemError("", refused.slug, refused.detail),)
        raise InvalidInput(refused.detail, slug=refused.slug, errors=errors) from refused


def _save(request: PersonRequest, draft_id: UUID, value: JSONObject, values: dict[str, str]) -> None:
    drafting.save(
        draft_id=draft_id,
        author=request.user,
        document=value,
        note=values.get("note", "").strip(),
        version=_integer(values.get("version", ""), "version"),
        request=actor(request),
    )


def _form(
    request: PersonRequest,
    found: PolicyDraft,
    values: dict[str, str],
    errors: dict[str, str],
    *,
    problem: ReviewQueueError | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        **policy_form.shown(values, errors),
        "draft": found,
        "note": values.get("note", found.note),
        "fits": problem is not None or policy_form.fits(found.document),
        "problem": problem,
        "dispositions": policy_reading.LEADS_TO,
    }
    return render_page(request, "policy/edit.html", context, here="policy", status=status)


def _text(
    request: PersonRequest,
    found: PolicyDraft,
    text: str,
    note: str,
    *,
    problem: ReviewQueueError | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {"draft": found, "document": visible_json(text), "note": note, "problem": problem}
    return render_page(request, "policy/document.html", context, here="policy", status=status)


def _saved(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    messages.success(request, "Saved. Nothing is in force before another person publishes it.")
    return _to(draft_id)


@page(may=Act.POLICY_DRAFT, methods=("POST",))
def catch_up(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    def act(version: int) -> HttpResponse:
        drafting.catch_up(draft_id=draft_id, author=request.user, version=version, request=actor(request))
        messages.success(request, "The draft is based on the version in force now.")
        return _to(draft_id)

    return _attempt(request, draft_id, act)


@page(may=Act.POLICY_DRAFT, methods=("POST",))
def discard(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    def act(version: int) -> HttpResponse:
        drafting.discard(draft_id=draft_id, person=request.user, request=actor(request))
        messages.success(request, "Discarded. The policy in force did not change.")
        return see_other(reverse("review:policy"))

    return _attempt(request, draft_id, act)


@page(may=Act.POLICY_PUBLISH, methods=("POST",))
def publish(request: PersonRequest, draft_id: UUID) -> HttpResponse:
    def act(version: int) -> HttpResponse:
        published = drafting.publish(
            draft_id=draft_id, publisher=request.user, version=version, request=actor(request)
        )
        messages.success(
            request,
            f"Version {published.version} is in force from the next check on. Open items keep the version that "
            "judged them.",
        )
        return see_other(reverse("review:policy"))

    return _attempt(request, draft_id, act)


def _attempt(request: PersonRequest, draft_id: UUID, act: Callable[[int], HttpResponse]) -> HttpResponse:
    """Carry the act out on the version of the form; a refusal shows the draft as it is now, and why."""
    try:
        return act(_integer(forms.read(request.POST, SEEN).get("version", ""), "version"))
    except NotFound:
        raise
    except ReviewQueueError as error:
        return _show(request, find(draft_id), problem=error, status=error.status)


def find(draft_id: UUID) -> PolicyDraft:
    found = PolicyDraft.objects.select_related("author").filter(pk=draft_id).first()
    if found is None:
        raise NotFound("There is no such draft of the policy.")
    return found


def _own(request: PersonRequest, draft_id: UUID) -> PolicyDraft:
    """The person's own draft, to change it."""
    found = find(draft_id)
    if found.author_id != request.user.pk:
        raise NotAllowed(f"This is {found.author.label}’s draft. Begin one of your own to change something.")
    return found


def _integer(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidInput(
            f"“{name}” is missing. Open the page again and act from there.",
            slug="invalid-form",
            errors=[ProblemError(name, "required", f"“{name}” is the number from the page.")],
        )
    return int(text)


def _to(draft_id: UUID) -> HttpResponse:
    return see_other(reverse("review:policy-draft", args=[draft_id]))
