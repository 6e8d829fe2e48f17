"""The stored document as it is: its exact bytes as a file, and a search through all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpResponse

from checkpoints.errors import InvalidInput, NotFound
from checkpoints.models import CheckpointBody
from checkpoints.types import JSONValue
from reviewqueue.pages import review, tree
from reviewqueue.pages.shell import PersonRequest, actor, page, render_page, single_parameters
from reviewqueue.services.access import Act
from reviewqueue.services.reading import record_reading

MOST_FOUND = 100
AROUND = 60  # characters before and after a hit


@dataclass(frozen=True, slots=True)
class Found:
    """A place where the text stands: in its member's name or in its value."""

    pointer: str
    holder: str  # pointer of the container that shows it
    before: str
    hit: str
    after: str


@page(may=Act.READ_BODIES)
def raw(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    """The bytes of a revision (the current one by default), never shown by the browser, always saved."""
    given = single_parameters(request.GET, known=frozenset({"revision"}))
    handoff = review.find(handoff_id)
    number = given.get("revision") or str(handoff.revision)
    if not (number.isascii() and number.isdigit() and len(number) < 8):
        raise InvalidInput("“revision” is a number such as 1.", status=400)
    content = (
        CheckpointBody.objects.filter(checkpoint__handoff=handoff, checkpoint__revision=int(number))
        .values_list("content", flat=True)
        .first()
    )
    if content is None:
        raise NotFound(f"The body of revision {number} is not stored here.")
    record_reading(handoff_id=handoff.pk, reader=request.user, request=actor(request))
    response = HttpResponse(bytes(content), content_type="application/json")
    response.headers["Content-Disposition"] = f'attachment; filename="{handoff.pk}-r{int(number)}.json"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


@page(may=Act.READ_BODIES)
def search(request: PersonRequest, handoff_id: UUID) -> HttpResponse:
    """Every place of the current document where a text stands, names and values alike."""
    given = single_parameters(request.GET, known=frozenset({"q"}))
    handoff = review.find(handoff_id)
    submission = review.read_submission(handoff)
    if submission is None:
        raise NotFound("The body was deleted when its retention period ended.")
    record_reading(handoff_id=handoff.pk, reader=request.user, request=actor(request))
    wanted = given.get("q", "").strip()[:200]
    hits = list(hits_in(submission.payload, wanted)) if wanted else []
    context = {
        "handoff": handoff,
        "wanted": wanted,
        "hits": hits[:MOST_FOUND],
        "more": len(hits) > MOST_FOUND,
    }
    return render_page(request, "search.html", context, here="queue")


def hits_in(document: JSONValue, wanted: str) -> Iterator[Found]:
    """At most MOST_FOUND + 1 places in the document's order; upper and lower case are the same."""
    needle = wanted.casefold()
    stack: list[tuple[str, str, str, JSONValue]] = [("", "", "", document)]
    count = 0
    while stack and count <= MOST_FOUND:
        pointer, holder, name, value = stack.pop()
        is_container = isinstance(value, dict | list)
        text = name if is_container else f"{name}: {_written(value)}" if name else _written(value)
        at = text.casefold().find(needle)
        if at >= 0:
            count += 1
            yield Found(
                pointer,
                holder,
                text[max(0, at - AROUND) : at],
                text[at : at + len(wanted)],
                text[at + len(wanted) : at + len(wanted) + AROUND],
            )
        if isinstance(value, dict):
            stack += [(tree.child(pointer, key), pointer, key, item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            places = range(len(value) - 1, -1, -1)
            stack += [(tree.child(pointer, place), pointer, "", value[place]) for place in places]


def _written(value: JSONValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
