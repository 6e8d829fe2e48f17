"""A decision form that waits while its person confirms who they are: kept in the session, never carried out."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from allauth.account.authentication import get_authentication_records
from django.conf import settings

from checkpoints.errors import InvalidInput
from checkpoints.models import Handoff
from reviewqueue.pages.forms import Typed
from reviewqueue.pages.shell import PersonRequest

KEPT = "kept_decision"
KEPT_SECONDS = 1800
LARGEST = 200_000  # characters of all fields together
TEXTS = frozenset({"reason", "question", "external_ticket", "advice"})  # what stays true of changed content


@dataclass(frozen=True, slots=True)
class Kept:
    """`same`: the handoff is still what the form was made for, so that all of it may be shown again."""

    typed: Typed
    same: bool


def factor_is_fresh(request: PersonRequest) -> bool:
    """Whether a second factor was used in this session within STEP_UP_MINUTES."""
    records = get_authentication_records(request, request.user)
    used = [record["at"] for record in records if record.get("method") == "mfa"]
    return bool(used) and time.time() - max(used) < settings.STEP_UP_MINUTES * 60


def keep(request: PersonRequest, handoff_id: object, values: Mapping[str, str]) -> None:
    """Keep what was typed until it is decided, for half an hour. Raises InvalidInput (422) for very much text."""
    kept = {
        name: text for name, text in values.items() if name not in ("csrfmiddlewaretoken", "next", "action")
    }
    if len(json.dumps(kept)) > LARGEST:
        raise InvalidInput("That is too much text to keep. Shorten it, then confirm that it is you.")
    request.session[KEPT] = {"handoff": str(handoff_id), "at": time.time(), "values": kept}


def kept_for(request: PersonRequest, handoff: Handoff) -> Kept | None:
    """What was kept of the form of this handoff. Of changed content only the texts: no answer, no tick."""
    found = request.session.get(KEPT)
    if not found or found["handoff"] != str(handoff.pk) or time.time() - found["at"] > KEPT_SECONDS:
        return None
    values = found["values"]
    seen = (values.get("content_digest"), values.get("version"))
    same = seen == (handoff.content_digest, str(handoff.version))
    return Kept(Typed({name: text for name, text in values.items() if same or name in TEXTS}), same)


def forget(request: PersonRequest, handoff_id: object) -> None:
    found = request.session.get(KEPT)
    if found and found["handoff"] == str(handoff_id):
        del request.session[KEPT]
