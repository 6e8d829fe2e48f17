"""A list of the queue under a name, for oneself or for everybody."""

from __future__ import annotations

import pytest

from checkpoints.models import AuditEntry
from reviewqueue.models import Role, SavedView
from reviewqueue.services import saving
from tests.characters import fresh, person
from tests.visiting import page_text, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(db):
    return person(name="alice")


def save(client, **fields):
    return client.post("/queue/views/", {"name": "Refunds", "query": "role=billing&q=refund", **fields})


def entries(user):
    rows = AuditEntry.objects.filter(subject_kind="account", subject_id=user.public_id)
    return [row.action for row in rows.order_by("subject_index") if row.action.startswith("view.")]


def test_a_saved_list_stands_beside_the_tabs_of_its_owner_alone(alice):
    client = signed_in(alice)
    response = save(client, name="  My   refunds ")
    assert (response.status_code, response["Location"]) == (303, "/queue/?role=billing&q=refund")
    assert "Saved as “My refunds”." in page_text(client.get("/queue/"))
    assert 'href="/queue/?role=billing&amp;q=refund"' in client.get("/queue/").content.decode()
    assert "My refunds" not in page_text(signed_in(person(name="bob")).get("/queue/"))
    assert entries(alice) == []


def test_typed_terms_are_saved_as_filters_and_cursors_are_not(alice):
    save(signed_in(alice), query="q=is%3Aedited+refund&view=risk")
    assert SavedView.objects.get(owner=alice).query == "view=risk&is=edited&q=refund"


def test_a_shared_one_is_everybody_s_and_audited(alice):
    name = fresh("view")
    client = signed_in(alice)
    save(client, name=name, shared="yes")
    bob = signed_in(person(name="bob"))
    assert name in page_text(bob.get("/queue/views/"))
    view = SavedView.objects.get(owner=alice)
    refused = bob.post(f"/queue/views/{view.pk}/remove/")
    assert refused.status_code == 403
    assert SavedView.objects.filter(pk=view.pk).exists()
    save(client, name=name)
    assert bob.post(f"/queue/views/{view.pk}/remove/").status_code == 404, "it is not shared any more"
    save(client, name=name, shared="yes")
    assert signed_in(person(Role.MANAGER)).post(f"/queue/views/{view.pk}/remove/").status_code == 303
    assert not SavedView.objects.filter(pk=view.pk).exists()
    assert entries(alice) == ["view.shared", "view.withdrawn", "view.shared", "view.removed"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": " "}, "Give the view a name"),
        ({"name": "x" * 61}, "Give the view a name"),
        ({"name": "a\u202eb"}, "Give the view a name"),
        ({"query": "severity=extreme"}, "high, medium, low or none"),
        ({"query": "page=2"}, "not a parameter"),
    ],
)
def test_what_cannot_be_saved_says_why_and_keeps_what_was_typed(alice, fields, said):
    response = save(signed_in(alice), **fields)
    assert response.status_code in (400, 422)
    assert said in page_text(response)
    assert not SavedView.objects.filter(owner=alice).exists()


def test_thirty_views_are_enough(alice, monkeypatch):
    monkeypatch.setattr(saving, "MOST", 1)
    client = signed_in(alice)
    save(client)
    assert save(client).status_code == 303, "the same name again is the same view"
    response = save(client, name="Another")
    assert response.status_code == 422
    assert "Remove one first" in page_text(response)
    assert SavedView.objects.filter(owner=alice).count() == 1
