"""Keys of one's own: stored by the server, refused where they cannot work, off where somebody wants them off."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest

from reviewqueue.models import Preference, Role
from reviewqueue.services.preferences import preferences_of
from reviewqueue.shortcuts import ACTIONS, fault, faults, resolve
from tests.characters import flagged, orchestrator, person
from tests.visiting import detail_url, page_text, signed_in

KEYS = "/settings/keys/"


def data(response: Any) -> dict[str, Any]:
    found = re.search(r'data-keys="([^"]*)"', response.content.decode())
    value: dict[str, Any] = json.loads(unescape(found[1]))
    return value


def saved(client: Any, **bindings: str) -> Any:
    fields = {f"key:{name.replace('_', '-')}": keys for name, keys in bindings.items()}
    return client.post(KEYS, {"act": "save", **fields})


def test_the_usual_keys_do_not_clash():
    assert faults({name: action.keys for name, action in ACTIONS.items()}) == {}


@pytest.mark.parametrize("keys", ["", "x", "?", "ö", "g x", "  G   X ", "7", "+"])
def test_one_or_two_characters_make_a_key(keys):
    assert fault(keys) == ""


@pytest.mark.parametrize("keys", ["Enter", "esc", "tab", "Ctrl+K", "⌘ k", "space", "↵", "ctrl k"])
def test_keys_that_others_need_are_reserved(keys):
    assert "is reserved" in fault(keys)


@pytest.mark.parametrize("keys", ["ab", "g qq", "a b c", "\u200b", "x\u0000"])
def test_what_no_keyboard_sends_as_a_stroke_is_no_key(keys):
    assert fault(keys) and "reserved" not in fault(keys)


def test_one_key_for_two_actions_is_refused_where_they_meet():
    clash = faults({"claim": "x", "edit": "x"})
    assert clash == {
        "claim": "“x” is the key of “Edit” already.",
        "edit": "“x” is the key of “Claim” already.",
    }
    assert faults({"decide": "x", "leave": "x"}) == {}, "these two never meet"
    assert set(faults({"claim": "g", "go-queue": "g q"})) == {"claim", "go-queue"}, (
        "the first would hide the second"
    )
    assert faults({"go-handoffs": "g h", "go-queue": "g q"}) == {}


def test_a_key_that_one_chose_takes_it_from_the_usual_owner():
    chosen = resolve({"claim": "j", "nothing-of-ours": "q", "edit": "ctrl"})
    assert (chosen["claim"], chosen["next"], chosen["edit"]) == ("j", "", "e")
    assert list(chosen) == list(ACTIONS)


@pytest.mark.django_db
def test_own_keys_are_kept_for_the_person_and_shown_on_buttons(db):
    alice, bob = person(name="alice"), person(name="bob")
    handoff = flagged(orchestrator())
    client = signed_in(alice)
    assert saved(client, decide="Y", claim="")["Location"] == KEYS
    assert Preference.objects.get(pk=alice.pk).keys == {"decide": "y", "claim": ""}
    body = client.get(detail_url(handoff))
    assert data(body)["actions"]["decide"] == {"strokes": ["y"], "scopes": ["item"], "href": ""}
    assert data(body)["actions"]["claim"]["strokes"] == []
    assert re.search(r'Approve <kbd class="" aria-hidden="true">Y</kbd>', body.content.decode())
    assert data(signed_in(bob).get(detail_url(handoff)))["actions"]["decide"]["strokes"] == ["a"]
    client.post(KEYS, {"act": "reset"})
    assert Preference.objects.get(pk=alice.pk).keys == {}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("bindings", "sentence"),
    [
        ({"claim": "j"}, "“j” is the key of “Next row or finding” already."),
        ({"claim": "Enter"}, "“enter” is reserved"),
        ({"go_queue": "abc"}, "Write one character, or two with a space between them"),
    ],
)
def test_a_key_that_cannot_be_is_refused_with_words_and_what_was_typed(db, bindings, sentence):
    alice = person(name="alice")
    client = signed_in(alice)
    assert saved(client, edit="w").status_code == 303
    response = saved(client, **bindings, help="h")
    assert response.status_code == 422
    assert sentence in page_text(response)
    assert 'name="key:help" value="h"' in response.content.decode()
    assert Preference.objects.get(pk=alice.pk).keys == {"edit": "w"}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "fields",
    [{"act": "save", "key:nothing": "x"}, {"act": "explode"}, {}, {"act": "save", "other": "1"}],
)
def test_a_form_that_is_none_of_ours_changes_nothing(db, fields):
    alice = person(name="alice")
    assert signed_in(alice).post(KEYS, fields).status_code == 422
    assert not Preference.objects.filter(pk=alice.pk).exclude(keys={}).exists()


@pytest.mark.django_db
def test_switched_off_they_are_off_on_every_machine(db):
    alice = person(name="alice")
    first, second = signed_in(alice), signed_in(alice)
    response = first.post(KEYS, {"act": "off", "next": "/queue/?view=mine"})
    assert (response.status_code, response["Location"]) == (303, "/queue/?view=mine")
    page = second.get("/queue/")
    assert data(page)["on"] is False
    assert '<kbd class="key-hint"' not in re.sub(r"<a [^>]*data-palette.*?</a>", "", page.content.decode())
    second.post(KEYS, {"act": "on", "next": "https://elsewhere.example/"})
    assert preferences_of(person=alice).single_keys


@pytest.mark.django_db
def test_the_map_shows_what_a_person_can_do_and_where(db):
    alice = page_text(signed_in(person()).get("/help/keys/"))
    for text in (
        "Everywhere",
        "In a list",
        "On a handoff",
        "While editing",
        "Confirm the approval",
        "Ctrl K",
    ):
        assert text in alice
    admin = signed_in(person(Role.ADMIN)).get("/help/keys/")
    assert "Claim" not in page_text(admin) and "On a handoff" not in page_text(admin)
    assert set(data(admin)["actions"]) == {"help", "search", "go-policy", "go-settings"}


@pytest.mark.django_db
def test_hostile_keys_are_text(db):
    client = signed_in(person())
    response = saved(client, claim="</script><b>")
    assert response.status_code == 422
    assert "</script><b>" not in unescape(response.content.decode()).replace('value="</script><b>"', "")
