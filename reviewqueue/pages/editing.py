"""`/handoffs/{id}/edit/`: a new revision from fields, suggested repairs and JSON text. The original never changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import render

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.errors import InvalidInput, NotFound, ReviewQueueError
from checkpoints.formats import FORMATS, STATUSES
from checkpoints.models import AWAITING_PERSON, CheckpointBody, Handoff
from checkpoints.services import clock
from checkpoints.services.policy import of_version
from reviewqueue.pages import forms, review
from reviewqueue.pages.acts import back, see_other
from reviewqueue.pages.rows import live_claim
from reviewqueue.pages.shell import PersonRequest, actor, page, render_page
from reviewqueue.services import edit_drafts, editing, rechecking
from reviewqueue.services.access import Act
from reviewqueue.templatetags.review import is_hidden

SET, WAS = "set:", "was:"  # a field beside the text, and what it held when the page was made
SAVE, CHECK, APPLY, DISCARD = "save", "check", "apply:", "discard"


@dataclass(frozen=True, slots=True)
class Editor:
    """What the editor holds: text and reason, the checks' word on them, or why there is none."""

    text: str
    reason: str = ""
    checked: rechecking.Rechecked | None = None
    fault: InvalidInput | None = None
    kept: datetime | None = None  # when the text became this person's draft
    replaced: bool = False  # the text is not what the browser sent: fields or a suggestion changed it


@page(may=Act.DECIDE, methods=("GET", "POST"))
def edit(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    handoff = review.find(handoff_id)
    if request.method != "POST":
        return _show(request, handoff, clock.now(), _opened(request, handoff))
    values: dict[str, str] = {}
    try:
        values = forms.read(request.POST, forms.EDIT, prefixes=(SET, WAS))
        do = values.get("do") or SAVE
        if do == DISCARD:
            edit_drafts.discard(handoff=handoff, author=request.user)
            return see_other(request.path)
        if do != SAVE:
            return _show(request, handoff, clock.now(), _worked(request, handoff, values), values=values)
        _save(request, handoff, values)
    except NotFound:
        raise
    except ReviewQueueError as error:
        typed = forms.typed(request.POST, error)
        text, reason = typed.values.get("document", ""), typed.values.get("reason", "")
        handoff = review.find(handoff_id)
        editor = replace(_looked_at(handoff, text), reason=reason)
        return _show(request, handoff, clock.now(), editor, values=typed.values, typed=typed, problem=error)
    messages.success(
        request,
        "Saved as a new revision, which replaces the original for the receiver. Approvals start anew.",
    )
    return back(request, handoff_id)


@page(may=Act.DECIDE, methods=("POST",))
def check(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    """What the checks say of the text as it stands, as a piece of the page; keeps the text as a draft."""
    handoff = review.find(handoff_id)
    values = forms.read(request.POST, forms.EDIT, prefixes=(SET, WAS))
    editor = _worked(request, handoff, values)
    return render(request, "edit.html#checked", _checked_context(request, handoff, editor))


def _save(request: PersonRequest, handoff: Handoff, values: dict[str, str]) -> None:
    digest, version = forms.seen(values)
    document = values.get("document", "")
    given, was = _prefixed(values, SET), _prefixed(values, WAS)
    if given:
        document = rechecking.with_fields(handoff=handoff, document=document, given=given, was=was)
    editing.edit(
        handoff_id=handoff.pk,
        reviewer=request.user,
        document=document,
        reason=values.get("reason", ""),
        content_digest=digest,
        version=version,
        request=actor(request),
    )
    edit_drafts.discard(handoff=handoff, author=request.user)


def _worked(request: PersonRequest, handoff: Handoff, values: dict[str, str]) -> Editor:
    """The text with fields and the wanted suggestion in it, judged, and kept as a draft."""
    sent, reason = values.get("document", ""), values.get("reason", "")
    text, fault = sent, None
    try:
        text = rechecking.with_fields(
            handoff=handoff, document=sent, given=_prefixed(values, SET), was=_prefixed(values, WAS)
        )
    except InvalidInput as error:
        fault = error
    editor = Editor(sent, fault=fault) if fault else _looked_at(handoff, text)
    do = values.get("do", "")
    if do.startswith(APPLY) and editor.checked is not None:
        try:
            text = rechecking.applied(checked=editor.checked, key=do.removeprefix(APPLY))
            editor = _looked_at(handoff, text)
        except InvalidInput as error:
            editor = replace(editor, fault=error)
    digest, _ = forms.seen(values)
    draft = edit_drafts.keep(
        handoff=handoff, author=request.user, text=editor.text, reason=reason, content_digest=digest
    )
    kept = draft.changed_at if draft else None
    return replace(editor, reason=reason, kept=kept, replaced=editor.text != sent)


def _looked_at(handoff: Handoff, text: str) -> Editor:
    if not _can_edit(handoff):
        return Editor(text)
    try:
        return Editor(text, checked=rechecking.recheck(handoff=handoff, document=text))
    except InvalidInput as error:
        return Editor(text, fault=error)


def _opened(request: PersonRequest, handoff: Handoff) -> Editor:
    """The draft of this person where it was begun on this very content, else the content."""
    if not _can_edit(handoff):
        return Editor("")
    draft = edit_drafts.own(handoff=handoff, author=request.user)
    if draft is not None and draft.content_digest == handoff.content_digest:
        return replace(_looked_at(handoff, draft.text), reason=draft.reason, kept=draft.changed_at)
    return _looked_at(handoff, editing.editable_text(handoff=handoff))


def _can_edit(handoff: Handoff) -> bool:
    readable = CheckpointBody.objects.filter(
        checkpoint__handoff=handoff, checkpoint__revision=handoff.revision
    )
    return handoff.state in AWAITING_PERSON and FORMATS[handoff.format].editable and readable.exists()


def _show(
    request: PersonRequest,
    handoff: Handoff,
    at: datetime,
    editor: Editor,
    *,
    values: Any = None,
    typed: forms.Typed | None = None,
    problem: ReviewQueueError | None = None,
) -> HttpResponse:
    form = FORMATS[handoff.format]
    claim = live_claim(handoff, at)
    values = values or {}
    draft = edit_drafts.own(handoff=handoff, author=request.user)
    context = {
        **_checked_context(request, handoff, editor),
        "format": form,
        "typed": typed or forms.Typed(),
        "problem": review.problem_view(problem),
        "holder": claim.holder if claim and claim.holder_id != request.user.pk else None,
        # After a refusal the form keeps what its person saw: another's edit is never overwritten by a second click.
        "seen_digest": values.get("content_digest", handoff.content_digest),
        "seen_version": values.get("version", str(handoff.version)),
        "protected": [pointer for pointer in form.protected if _stands(editor.text, pointer)],
        "statuses": STATUSES,
        "roles": sorted(of_version(version=handoff.policy_version or 0).compiled.roles),
        "draft": draft,
        "older_draft": draft if draft and draft.content_digest != handoff.content_digest else None,
        "lost_draft": draft if draft and not _can_edit(handoff) else None,
    }
    status = problem.status if problem else 200
    return render_page(request, "edit.html", context, here="queue", status=status)


def _checked_context(request: PersonRequest, handoff: Handoff, editor: Editor) -> dict[str, Any]:
    checked = editor.checked
    return {
        "handoff": handoff,
        "editable": _can_edit(handoff),
        "document": visible_json(editor.text),
        "reason": editor.reason,
        "checked": checked,
        "groups": _groups(checked) if checked else [],
        "fault": editor.fault,
        "replaced": editor.replaced,
        "fields": rechecking.field_values(handoff=handoff, document=editor.text),
        "others": list(edit_drafts.others_editing(handoff=handoff, user=request.user)),
        "patch": rechecking.lines_of(checked.patch) if checked else [],
        "kept": editor.kept,
    }


def _groups(checked: rechecking.Rechecked) -> list[dict[str, Any]]:
    """Findings as gone, new and still there, with the suggestions for each."""
    by_place: dict[tuple[str, str], list[rechecking.Suggestion]] = {}
    for suggestion in checked.suggestions:
        by_place.setdefault((suggestion.code, suggestion.pointer), []).append(suggestion)
    return [
        {
            "name": name,
            "title": title,
            "findings": [
                {
                    **finding,
                    "title": _title(finding),
                    "suggestions": by_place.get((finding["code"], finding["pointer"]), []) if repair else [],
                }
                for finding in found
            ],
        }
        for name, title, found, repair in (
            ("new", "New", checked.new, True),
            ("same", "Still there", checked.same, True),
            ("gone", "Gone", checked.gone, False),
        )
        if found
    ]


def _title(finding: dict[str, Any]) -> str:
    entry = CATALOGUE.get(finding["code"])
    if finding.get("origin") == "reported":
        return "The sender reports this itself"
    return entry.title if entry else str(finding["name"])


def _prefixed(values: dict[str, str], prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): text for name, text in values.items() if name.startswith(prefix)}


def _stands(document: str, pointer: str) -> bool:
    """Whether the document has the protected member, judged by its last name: enough for a hint."""
    return f'"{pointer.rpartition("/")[2]}"' in document


def visible_json(text: str) -> str:
    """JSON text whose invisible characters are written as escapes, which mean the same and can be seen."""
    return "".join(
        _escaped(character) if is_hidden(character) else character for character in text.replace("\r\n", "\n")
    )


def _escaped(character: str) -> str:
    encoded = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{encoded[place]:02x}{encoded[place + 1]:02x}" for place in range(0, len(encoded), 2))
