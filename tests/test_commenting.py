"""Comments: said once, seen by people, taken away only by who said it."""

from __future__ import annotations

import pytest

from checkpoints.models import AuditEntry
from reviewqueue.models import Comment, Mention, Role
from reviewqueue.services.commenting import mentioning
from tests.characters import flagged, orchestrator, person, reload
from tests.test_pages_text import CORPUS, Dangers
from tests.visiting import detail_url, hidden_fields, page_text, signed_in

pytestmark = pytest.mark.django_db


def say(client, handoff, text, **fields):
    return client.post(f"{detail_url(handoff)}comments/", {"comment": text, **fields})


def test_a_comment_stands_on_the_page_and_in_the_trail(db):
    handoff, alice = flagged(orchestrator()), person(name="alice")
    client = signed_in(alice)
    response = say(client, handoff, "The amount looks odd", pointer="/completed_steps/0")
    assert response.status_code == 303
    assert "#comment-" in response["Location"]
    page = client.get(detail_url(handoff))
    assert "The amount looks odd" in page_text(page)
    assert 'href="#at/completed_steps/0"' in page.content.decode()
    entry = AuditEntry.objects.filter(subject_id=str(handoff.pk), action="handoff.commented").get()
    assert entry.actor_id == alice.public_id
    assert reload(handoff).version == handoff.version, "a comment makes no decision stale"


def test_who_is_mentioned_finds_it_marked_until_it_was_read(db):
    handoff, bob = flagged(orchestrator()), person(Role.SENIOR_OPERATOR, name="bob")
    say(signed_in(person(name="alice")), handoff, f"@{bob.username}, is this the account on file?")
    assert mentioning(person=bob, handoff_ids=[handoff.pk]) == {handoff.pk}
    theirs = signed_in(bob)
    row = theirs.get("/queue/", {"session": handoff.session.session_id}).content.decode()
    assert "mentions you" in row
    assert (
        "mentions you"
        not in signed_in(person()).get("/queue/", {"session": handoff.session.session_id}).content.decode()
    )
    theirs.get(detail_url(handoff))
    assert mentioning(person=bob, handoff_ids=[handoff.pk]) == set()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"text": "   "}, "Write something"),
        ({"text": "x" * 4001}, "at most 4000 characters"),
        ({"text": "Ask @nobody-of-this-name"}, "Nobody who works here has the name @nobody-of-this-name"),
        ({"text": "There", "pointer": "completed_steps"}, "A place is a JSON Pointer"),
    ],
)
def test_what_cannot_be_said_is_told_and_kept_in_the_field(db, fields, says):
    handoff = flagged(orchestrator())
    response = say(signed_in(person()), handoff, fields["text"], pointer=fields.get("pointer", ""))
    assert response.status_code == 422
    assert says in page_text(response)
    if fields["text"].strip():
        assert fields["text"] in response.content.decode()
    assert not Comment.objects.filter(handoff=handoff).exists()


def test_an_admin_is_not_told_what_they_may_not_read(db):
    handoff, admin = flagged(orchestrator()), person(Role.ADMIN, name="adam")
    assert say(signed_in(person()), handoff, f"Look, @{admin.username}").status_code == 422
    assert not Mention.objects.filter(person=admin).exists()


def test_only_its_author_takes_a_comment_away_and_the_page_says_so(db):
    handoff, alice = flagged(orchestrator()), person(name="alice")
    mine = signed_in(alice)
    say(mine, handoff, "Said in haste")
    row = Comment.objects.get(handoff=handoff)
    address = f"{detail_url(handoff)}comments/{row.pk}/remove/"
    assert signed_in(person(Role.MANAGER)).post(address).status_code == 403
    assert Comment.objects.get(pk=row.pk).removed_at is None
    for _ in range(2):
        assert mine.post(address).status_code == 303
    words = page_text(mine.get(detail_url(handoff)))
    assert "Removed by its author." in words
    assert "Said in haste" not in words
    removed = AuditEntry.objects.filter(subject_id=str(handoff.pk), action="handoff.comment_removed")
    assert removed.count() == 1


def test_hostile_comments_stay_text(db):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    for text in CORPUS:
        assert say(client, handoff, text, pointer="/" + text).status_code == 303, text
    assert Dangers(client.get(detail_url(handoff)).content.decode()).found == []


def test_the_decision_form_is_whole_after_a_comment(db):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    say(client, handoff, "First")
    assert hidden_fields(client.get(detail_url(handoff)))["version"] == str(handoff.version)
