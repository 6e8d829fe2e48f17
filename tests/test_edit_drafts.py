"""What somebody typed on the edit page is there again after a reload, another session or another's decision."""

from __future__ import annotations

import re
from datetime import timedelta

import orjson
import pytest
from django.utils import timezone

from reviewqueue.models import EditDraft
from reviewqueue.services import claiming, edit_drafts, editing
from tests.characters import document, flagged, orchestrator, person, reload
from tests.visiting import decide, detail_url, hidden_fields, page_text, signed_in

pytestmark = pytest.mark.django_db

STEP = document()["completed_steps"][0]


@pytest.fixture
def alice(db):
    return person(name="alice")


@pytest.fixture
def handoff(db):
    return flagged(orchestrator(), completed_steps=[STEP, STEP])


def edit_url(handoff):
    return f"{detail_url(handoff)}edit/"


def changed(handoff, word="Changed by hand"):
    value = orjson.loads(editing.editable_text(handoff=handoff))
    value["handoff_target"]["handoff_reason"] = word
    return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def send(client, handoff, do, path="", **fields):
    seen = hidden_fields(client.get(edit_url(handoff)))
    return client.post(f"{edit_url(handoff)}{path}", {**seen, "do": do, **fields})


def test_a_checked_text_is_kept_and_found_again_by_its_author_alone(alice, handoff):
    text = changed(handoff)
    answer = send(signed_in(alice), handoff, "check", "check/", document=text, reason="Half a reason")
    assert answer.status_code == 200
    assert b"<html" not in answer.content
    assert "Kept as your draft" in page_text(answer)
    again = signed_in(alice).get(edit_url(handoff)).content.decode()
    assert "Changed by hand" in again
    assert "Half a reason" in again
    bob = signed_in(person(name="bob")).get(edit_url(handoff))
    assert "Changed by hand" not in bob.content.decode()
    assert f"{alice.label} edits this too" in page_text(bob)
    assert reload(handoff).revision == 1


def test_others_see_on_the_handoff_s_page_who_edits(alice, handoff):
    bob = signed_in(person(name="bob"))
    poll = {"HTTP_HX_REQUEST": "true"}
    quiet = bob.get(detail_url(handoff), **poll)
    assert "edits it" not in page_text(quiet)
    send(signed_in(alice), handoff, "check", "check/", document=changed(handoff))
    told = bob.get(detail_url(handoff), HTTP_IF_NONE_MATCH=quiet["ETag"], **poll)
    assert f"{alice.label} edits it" in page_text(told)
    assert "edits it" not in page_text(signed_in(alice).get(detail_url(handoff)))


def test_findings_are_told_before_and_after(alice, handoff):
    client = signed_in(alice)
    key = re.search(r'value="apply:([0-9a-f]+)"', client.get(edit_url(handoff)).content.decode())[1]
    text = editing.editable_text(handoff=handoff)
    answer = send(client, handoff, f"apply:{key}", document=text)
    words = page_text(answer)
    assert "Gone 1" in words
    assert "The same step stands twice in completed_steps" in words
    assert "New content digest sha256:" in words
    assert EditDraft.objects.get(author=alice).text.count('"step_id"') == text.count('"step_id"') - 1
    assert reload(handoff).revision == 1, "nothing is applied to what is stored"
    stale = send(client, handoff, f"apply:{key}", document=answer.context["document"])
    assert "This suggestion was made for another text" in page_text(stale)


def test_a_text_that_is_no_json_is_kept_too_and_says_what_is_wrong(alice, handoff):
    answer = send(signed_in(alice), handoff, "check", "check/", document='{"a": ')
    assert answer.status_code == 200
    assert "cannot be saved like this" in page_text(answer)
    assert EditDraft.objects.get(author=alice).text == '{"a": '


def test_saving_takes_the_draft_away_and_says_that_it_replaces(alice, handoff):
    client = signed_in(alice)
    text = changed(handoff)
    send(client, handoff, "check", "check/", document=text)
    saved = send(client, handoff, "save", document=text, reason="Clearer words")
    assert saved.status_code == 303
    assert not EditDraft.objects.filter(handoff=handoff).exists()
    assert "replaces the original" in page_text(client.get(saved["Location"]))
    assert reload(handoff).revision == 2


def test_a_draft_of_an_older_revision_is_shown_and_never_applied(alice, handoff):
    client = signed_in(alice)
    send(client, handoff, "check", "check/", document=changed(handoff, "From alice"))
    bob = signed_in(person(name="bob"))
    send(bob, handoff, "save", document=changed(handoff, "From bob"), reason="Bob was first")
    page = client.get(edit_url(handoff))
    assert "The content changed after you began to edit" in page_text(page)
    editor = re.search(r'name="document"[^>]*>(.*?)</textarea>', page.content.decode(), re.DOTALL)[1]
    assert "From bob" in editor
    assert "From alice" not in editor
    assert "From alice" in page.content.decode()


def test_a_decision_loses_nobody_s_text(alice, handoff):
    client = signed_in(alice)
    send(client, handoff, "check", "check/", document=changed(handoff))
    decide(signed_in(person(name="bob")), handoff, "abort", reason="Not needed")
    page = client.get(edit_url(handoff))
    assert "Changed by hand" in page.content.decode()
    assert "kept until you discard it" in page_text(page)
    assert client.post(edit_url(handoff), {"do": "discard"}).status_code == 303
    assert not EditDraft.objects.filter(handoff=handoff).exists()


def test_typing_keeps_a_claim_alive(alice, handoff):
    claim = claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    claim.expires_at = timezone.now() + timedelta(seconds=20)
    claim.save()
    send(signed_in(alice), handoff, "check", "check/", document=changed(handoff))
    claim.refresh_from_db()
    assert claim.expires_at > timezone.now() + timedelta(minutes=5)


def test_fields_are_put_into_the_text_without_script(alice, handoff):
    client = signed_in(alice)
    text = editing.editable_text(handoff=handoff)
    fields = {"set:target_role": "legal", "was:target_role": "billing"}
    answer = send(client, handoff, "check", document=text, **fields)
    assert '"target_role": "legal"' in answer.context["document"]
    crossed = send(
        client, handoff, "save", document=text.replace('"billing"', '"warehouse"'), reason="x", **fields
    )
    assert crossed.status_code == 422
    assert reload(handoff).revision == 1


def test_a_month_old_draft_is_forgotten(alice, handoff):
    send(signed_in(alice), handoff, "check", "check/", document=changed(handoff))
    edit_drafts.forget_old_drafts()
    assert EditDraft.objects.filter(handoff=handoff).exists()
    EditDraft.objects.filter(handoff=handoff).update(changed_at=timezone.now() - timedelta(days=31))
    edit_drafts.forget_old_drafts()
    assert not EditDraft.objects.filter(handoff=handoff).exists()
