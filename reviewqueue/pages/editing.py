"""`/handoffs/{id}/edit/`: a new revision as JSON text. The original never changes."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse

from checkpoints.errors import NotFound, ReviewQueueError
from checkpoints.formats import FORMATS
from checkpoints.models import AWAITING_PERSON, CheckpointBody, Handoff
from checkpoints.services import clock
from reviewqueue.pages import findings, forms, review
from reviewqueue.pages.acts import back
from reviewqueue.pages.rows import live_claim
from reviewqueue.pages.shell import PersonRequest, actor, page, render_page
from reviewqueue.services import editing
from reviewqueue.services.access import Act
from reviewqueue.services.viewing import newest_run
from reviewqueue.templatetags.review import is_hidden


@page(may=Act.DECIDE, methods=("GET", "POST"))
def edit(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    handoff = review.find(handoff_id)
    if request.method != "POST":
        return _show(request, handoff, clock.now(), forms.Typed())
    try:
        values = forms.read(request.POST, forms.EDIT)
        digest, version = forms.seen(values)
        editing.edit(
            handoff_id=handoff_id,
            reviewer=request.user,
            document=values.get("document", ""),
            reason=values.get("reason", ""),
            content_digest=digest,
            version=version,
            request=actor(request),
        )
    except NotFound:
        raise
    except ReviewQueueError as error:
        handoff = review.find(handoff_id)
        typed = forms.typed(request.POST, error)
        return _show(request, handoff, clock.now(), typed, problem=error, status=error.status)
    messages.success(request, "Saved as a new revision and checked again. Approvals start anew.")
    return back(request, handoff_id)


def _show(
    request: PersonRequest,
    handoff: Handoff,
    at: datetime,
    typed: forms.Typed,
    *,
    problem: ReviewQueueError | None = None,
    status: int = 200,
) -> HttpResponse:
    form = FORMATS[handoff.format]
    readable = CheckpointBody.objects.filter(
        checkpoint__handoff=handoff, checkpoint__revision=handoff.revision
    ).exists()
    document = editing.editable_text(handoff=handoff) if readable and form.editable else ""
    claim = live_claim(handoff, at)
    context = {
        "handoff": handoff,
        "format": form,
        "document": visible_json(typed.values.get("document", document)),
        "typed": typed,
        "problem": review.problem_view(problem),
        "editable": handoff.state in AWAITING_PERSON and form.editable and readable,
        "findings": findings.shown(newest_run(handoff)),
        "holder": claim.holder if claim and claim.holder_id != request.user.pk else None,
        # After a refusal the form keeps what its person saw: another's edit is never overwritten by a second click.
        "seen_digest": typed.values.get("content_digest", handoff.content_digest),
        "seen_version": typed.values.get("version", str(handoff.version)),
        "protected": [pointer for pointer in form.protected if _stands(document, pointer)],
    }
    return render_page(request, "edit.html", context, here="queue", status=status)


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
