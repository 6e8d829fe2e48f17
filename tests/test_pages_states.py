"""What a page says when something is in the way; what somebody wrote is never swallowed."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from checkpoints.models import Handoff
from reviewqueue.services import deciding
from tests.characters import flagged, fresh, orchestrator, person, reload
from tests.visiting import detail_url, hidden_fields, page_text, signed_in

pytestmark = pytest.mark.django_db
WRITTEN = "Half an hour of thought </textarea><b>"


def test_a_form_after_the_end_of_its_session_shows_what_was_written_and_the_way_in(db):
    handoff = flagged(orchestrator())
    response = Client().post(f"{detail_url(handoff)}decide/", {"action": "abort", "reason": WRITTEN})
    assert response.status_code == 401
    body = response.content.decode()
    assert "Half an hour of thought &lt;/textarea&gt;" in body and "<b>" not in body
    assert f'href="/accounts/login/?next={detail_url(handoff).replace("/", "%2F")}"' in body
    assert reload(handoff).version == handoff.version


def test_a_form_that_cannot_be_trusted_gives_the_text_back(db):
    handoff = flagged(orchestrator())
    client = signed_in(person(), enforce_csrf_checks=True)
    response = client.post(f"{detail_url(handoff)}decide/", {"action": "abort", "reason": WRITTEN})
    assert response.status_code == 403
    assert "Half an hour of thought" in page_text(response)


def test_an_error_of_ours_gives_the_text_back(db, monkeypatch):
    handoff = flagged(orchestrator())
    client = signed_in(person(), raise_request_exception=False)
    fields = hidden_fields(client.get(detail_url(handoff)))

    def broken(**_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(deciding, "decide", broken)
    response = client.post(f"{detail_url(handoff)}decide/", {**fields, "action": "abort", "reason": WRITTEN})
    assert response.status_code == 500
    text = page_text(response)
    assert "Half an hour of thought" in text and "Nothing was decided" in text
    assert reload(handoff).state == "flagged"


def arrived(handoff: Handoff, sequence: int, task: str) -> Handoff:
    owner, session = handoff.orchestrator, handoff.session.session_id
    return flagged(owner, session_id=session, handoff_sequence=sequence, task_id=task)


def test_a_later_checkpoint_of_the_task_is_told_with_what_is_different(db):
    handoff = flagged(orchestrator(), session_id=fresh("session"), task_id="T-1")
    client = signed_in(person())
    poll = {"HTTP_HX_REQUEST": "true"}
    first = client.get(detail_url(handoff), **poll)
    arrived(handoff, 2, "T-2")
    same = client.get(detail_url(handoff), HTTP_IF_NONE_MATCH=first["ETag"], **poll)
    assert same.status_code == 304, "another task is no successor"
    later = arrived(handoff, 3, "T-1")
    told = client.get(detail_url(handoff), HTTP_IF_NONE_MATCH=first["ETag"], **poll)
    assert "Checkpoint 3 of this task has arrived." in page_text(told)
    way = re.search(r'href="([^"]+/diff/[^"]*)"', told.content.decode())[1]
    assert way == f"{detail_url(later)}diff/?against=1"
    assert client.get(way).status_code == 200
    assert "has arrived" not in page_text(client.get(detail_url(later)))
