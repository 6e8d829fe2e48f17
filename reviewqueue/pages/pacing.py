"""The pace card: shown to the person whose pace it is, put away for half an hour by a press."""

from __future__ import annotations

import time
from datetime import datetime

from django.http import HttpResponse, HttpResponseRedirect

from reviewqueue.pages import forms
from reviewqueue.pages.home import safe_next
from reviewqueue.pages.shell import PersonRequest, page
from reviewqueue.services.access import Act
from reviewqueue.services.pacing import Pace, pace_of

HIDDEN = "pace_hidden_until"  # in the session: seconds of the epoch
HIDDEN_SECONDS = 1800


def card(request: PersonRequest, at: datetime) -> Pace | None:
    """What the card says, None where there is none to show."""
    if request.session.get(HIDDEN, 0) > time.time():
        return None
    return pace_of(person=request.user, at=at)


@page(may=Act.DECIDE, methods=("POST",))
def hide(request: PersonRequest) -> HttpResponse:
    forms.read(request.POST, forms.ALWAYS)
    request.session[HIDDEN] = time.time() + HIDDEN_SECONDS
    response = HttpResponseRedirect(safe_next(request))
    response.status_code = 303
    return response
