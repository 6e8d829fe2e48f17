"""Going to a handoff, session, ticket or page by its name, and nowhere that one may not look."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reviewqueue.models import Role
from reviewqueue.services import searching
from reviewqueue.services.claiming import actor_of
from reviewqueue.services.saving import save_view
from tests.characters import approved, flagged, fresh, orchestrator, person
from tests.visiting import detail_url, page_text, signed_in

pytestmark = pytest.mark.django_db
FRAGMENT = {"HTTP_HX_REQUEST": "true"}


def hrefs(response: Any) -> list[str]:
    """The addresses that the answer leads to, in its order."""
    body = response.content.decode()
    main = body[body.find("<h1>") :] if "<h1>" in body else body
    return [unescape(found) for found in re.findall(r'<a (?:role="option" id="[^"]+" )?href="([^"]+)"', main)]


def asked(client: Any, text: str) -> list[str]:
    return hrefs(client.get("/search/", {"q": text}, **FRAGMENT))


def test_a_whole_id_leads_to_its_handoff_first(db):
    owner = orchestrator()
    name = fresh("CKPT")
    longer = flagged(owner, checkpoint_id=name + "-b")
    exact = flagged(owner, checkpoint_id=name)
    client = signed_in(person())
    for text in (name, name.upper(), f"  {name.lower()} ", str(exact.pk)):
        assert asked(client, text)[0] == detail_url(exact)
    assert set(asked(client, name[:-1])[:2]) == {detail_url(exact), detail_url(longer)}


def test_an_exact_id_stands_before_a_page_of_that_name(db):
    handoff = flagged(orchestrator(), checkpoint_id="policy", session_id=fresh("session"))
    found = asked(signed_in(person()), "policy")
    assert found.index(detail_url(handoff)) < found.index("/policy/")


def test_sessions_and_tickets_are_found_by_how_they_begin(db):
    session = fresh("Session")
    handoff = approved(orchestrator(), session_id=session)
    client = signed_in(person(Role.MANAGER))
    assert asked(client, session[:-2].lower())[0] == f"/sessions/{session}/"
    ticket = handoff.approval_ticket_reference
    assert asked(client, ticket.lower())[0] == f"/tickets/{ticket}/"
    assert f"/tickets/{ticket}/" in asked(client, ticket[:-1])


@pytest.mark.parametrize("wild", ["%", "_", "\\", "ckpt%", "*"])
def test_signs_of_patterns_are_letters_like_others(db, wild):
    flagged(orchestrator(), checkpoint_id=fresh("ckpt"))
    found = searching.find(person=person(), text=wild)
    assert (found.handoffs, found.sessions, found.tickets) == ([], [], [])


def test_an_admin_finds_pages_of_theirs_and_nothing_else(db):
    handoff = approved(orchestrator(), session_id=fresh("session"))
    client = signed_in(person(Role.ADMIN))
    named = (
        str(handoff.pk),
        handoff.checkpoint_id,
        handoff.session.session_id,
        handoff.approval_ticket_reference,
    )
    for text in named:
        assert asked(client, text) == []
    everything = asked(client, "")
    assert "/tokens/" in everything and "/policy/" in everything
    assert not {"/queue/", "/handoffs/", "/audit/", "/dashboard/"} & set(everything)
    assert "/tokens/" not in asked(signed_in(person()), "")


def test_pages_and_views_are_found_by_their_words(db):
    client = signed_in(person())
    assert asked(client, "aud")[0] == "/audit/"
    assert asked(client, "high ri")[0] == "/queue/?view=risk"
    assert asked(client, "zzz nowhere") == ["/queue/?q=zzz+nowhere", "/handoffs/?q=zzz+nowhere"]


def test_saved_views_are_found_by_ones_own_name_for_them(db):
    alice, bob = person(name="alice"), person(name="bob")
    for shared, name in ((False, "Late refunds"), (True, "Refunds of all")):
        save_view(
            owner=alice, name=name, query=f"role={name.split()[-1]}", shared=shared, actor=actor_of(alice)
        )
    assert asked(signed_in(alice), "refunds")[:2] == ["/queue/?role=refunds", "/queue/?role=all"]
    assert "/queue/?role=refunds" not in asked(signed_in(bob), "refunds")
    assert "/queue/?role=all" in asked(signed_in(bob), "refunds")


def test_without_script_the_same_is_a_page(db):
    handoff = flagged(orchestrator(), checkpoint_id=fresh("ckpt"))
    client = signed_in(person())
    response = client.get("/search/", {"q": handoff.checkpoint_id})
    assert hrefs(response)[0] == detail_url(handoff)
    assert "Exactly this name" in page_text(response)
    assert "<b>" not in client.get("/search/", {"q": "<b>id"}).content.decode()
    assert client.get("/search/", {"q": "a\0b" + "x" * 5000}).status_code == 200
    assert client.get("/search/", {"x": "1"}).status_code == 400


def test_who_is_signed_out_is_told_so_in_the_fragment_and_led_to_the_door_by_the_page(client, db):
    assert client.get("/search/", **FRAGMENT).status_code == 401
    assert client.get("/search/").headers["Location"].startswith("/accounts/login/")


def test_every_look_up_is_a_step_down_an_index(db):
    """Plans without the choice of reading the table: each condition has an index that fits it."""
    flagged(orchestrator(), session_id=fresh("session"))
    reader = person()
    with CaptureQueriesContext(connection) as captured:
        searching.find(person=reader, text="0199-Ä")
    selects = [query["sql"] for query in captured if "SELECT" in query["sql"]]
    assert len(selects) == 7
    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SET LOCAL enable_seqscan = off")
        for sql in selects:
            cursor.execute(f"EXPLAIN {sql}")
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert re.search(r"(handoff|handoff_source|session)_lookup|ticket_reference", plan), plan
            assert "Index Cond" in plan
        cursor.execute("ROLLBACK")
