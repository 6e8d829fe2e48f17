"""`POST /handoffs/{id}/seen/`: what the script of the page reports as looked at."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse

from checkpoints.errors import InvalidInput
from reviewqueue.pages import forms
from reviewqueue.pages.shell import PersonRequest, page
from reviewqueue.services import claiming, viewing
from reviewqueue.services.access import Act

FIELDS = forms.ALWAYS | {"what", "revision", "number", "code", "seconds"}


@page(may=Act.READ_BODIES, methods=("POST",))
def seen(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    """204. `what` is finding (with `number` and `code`), diff or dwell (with `seconds`). Extends the viewer's claim."""
    values = forms.read(request.POST, FIELDS)
    revision = _number(values, "revision")
    match values.get("what"):
        case "finding":
            viewing.record_opened(
                handoff_id=handoff_id,
                revision=revision,
                viewer=request.user,
                number=_number(values, "number"),
                code=values.get("code", ""),
            )
        case "diff":
            viewing.record_diff_opened(handoff_id=handoff_id, revision=revision, viewer=request.user)
        case "dwell":
            seconds = _number(values, "seconds")
            viewing.record_dwell(
                handoff_id=handoff_id, revision=revision, viewer=request.user, seconds=seconds
            )
        case _:
            raise InvalidInput("“what” is finding, diff or dwell.", slug="invalid-form")
    claiming.touch(handoff_id=handoff_id, reviewer=request.user)
    return HttpResponse(status=204)


def _number(values: dict[str, str], name: str) -> int:
    text = values.get(name, "")
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise InvalidInput(f"“{name}” is a whole number from the page.", slug="invalid-form")
    return int(text)
