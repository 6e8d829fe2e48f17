"""Several rows at once: each is an act of its own, on what was on the screen. Nothing is approved in bulk."""

from __future__ import annotations

import re

import pytest

from checkpoints.models import AuditEntry
from reviewqueue.models import Claim, Role
from reviewqueue.services import claiming, deciding
from tests.characters import flagged, form, fresh, orchestrator, person, reload
from tests.visiting import page_text, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(db):
    return person(name="alice")


@pytest.fixture
def session():
    return fresh("session")


@pytest.fixture
def three(session):
    owner = orchestrator()
    return [
        flagged(owner, session_id=session, handoff_sequence=number, task_id=f"T-{number}")
        for number in (1, 2, 3)
    ]


def ticked(client, session):
    """What the boxes of the queue would send."""
    page = client.get("/queue/", {"session": session}).content.decode()
    return re.findall(r'name="item" form="bulk" value="([^"]+)"', page)


def bulk(client, session, act, items=None, **fields):
    items = ticked(client, session) if items is None else items
    return client.post(
        "/queue/bulk/", {"act": act, "item": items, "next": f"/queue/?session={session}", **fields}
    )


def holders(handoffs):
    rows = Claim.objects.filter(handoff__in=handoffs).select_related("holder")
    return {row.handoff_id: row.holder for row in rows}


def test_several_are_claimed_and_released_and_another_s_is_left_out(alice, session, three):
    bob = person(name="bob")
    claiming.claim(handoff_id=three[0].pk, reviewer=bob)
    client = signed_in(alice)
    response = bulk(client, session, "claim")
    assert (response.status_code, response["Location"]) == (303, f"/queue/?session={session}")
    assert holders(three) == {three[0].pk: bob, three[1].pk: alice, three[2].pk: alice}
    said = page_text(client.get("/queue/"))
    assert f"2 claimed. 1 left out: {bob.label} is working on this" in said
    bulk(client, session, "release")
    assert holders(three) == {three[0].pk: bob}


def test_they_are_given_to_somebody_after_a_question(alice, session, three):
    bob = person(name="bob")
    client = signed_in(alice)
    asked = bulk(client, session, "reassign")
    assert asked.status_code == 200
    assert "Give 3 handoffs to somebody" in page_text(asked)
    assert holders(three) == {}
    response = bulk(client, session, "reassign", confirmed="yes", to=bob.public_id, reason="Night shift")
    assert response.status_code == 303
    assert set(holders(three).values()) == {bob}
    entry = AuditEntry.objects.get(subject_id=str(three[0].pk), action="handoff.reassigned")
    assert entry.actor_id == alice.public_id
    assert entry.text.reason == "Night shift"


@pytest.mark.parametrize("role", [Role.MANAGER, Role.ADMIN])
def test_nobody_gets_work_that_they_cannot_do(alice, session, three, role):
    other = person(role)
    response = bulk(signed_in(alice), session, "reassign", confirmed="yes", to=other.public_id)
    assert holders(three) == {}
    assert response.status_code in (303, 422)
    assert "cannot decide" in page_text(
        response if response.status_code == 422 else signed_in(alice).get("/queue/")
    )


def test_an_abort_asks_first_and_names_each(alice, session, three):
    client = signed_in(alice)
    asked = bulk(client, session, "abort")
    assert asked.status_code == 200
    assert "Abort 3 handoffs?" in page_text(asked)
    assert "Revision 1 is not sent; the sender reads your reason" in page_text(asked)
    assert {reload(item).state for item in three} == {"flagged"}
    missing = bulk(client, session, "abort", confirmed="yes", reason=" ")
    assert missing.status_code == 422
    assert "Say why they are aborted" in page_text(missing)
    assert {reload(item).state for item in three} == {"flagged"}
    done = bulk(client, session, "abort", confirmed="yes", reason="The task was withdrawn", advice="restart")
    assert done.status_code == 303
    assert {reload(item).state for item in three} == {"aborted"}
    decision = three[1].decisions.get()
    assert (decision.reason, decision.advice, decision.actor_id) == (
        "The task was withdrawn", "restart", alice.public_id,
    )  # fmt: skip


def test_what_changed_meanwhile_is_left_out_and_named(alice, session, three):
    client = signed_in(alice)
    items = ticked(client, session)
    bob = person(name="bob")
    deciding.decide(handoff_id=three[0].pk, reviewer=bob, form=form(reload(three[0])))
    asked = bulk(client, session, "abort", items)
    assert "Abort 2 handoffs?" in page_text(asked)
    assert "left out now approved" in page_text(asked)
    bulk(client, session, "abort", items, confirmed="yes", reason="Withdrawn")
    assert reload(three[0]).state == "approved"
    assert {reload(item).state for item in three[1:]} == {"aborted"}
    assert f"2 aborted. 1 left out: {bob.label} decided it meanwhile." in page_text(client.get("/queue/"))


def test_an_abort_stays_within_one_session(alice, session, three):
    other = fresh("session")
    flagged(orchestrator(), session_id=other)
    client = signed_in(alice)
    items = [*ticked(client, session), *ticked(client, other)]
    response = bulk(client, session, "abort", items, confirmed="yes", reason="x")
    assert response.status_code == 422
    assert "only within one session" in page_text(response)
    assert {reload(item).state for item in three} == {"flagged"}


@pytest.mark.parametrize("act", ["approve", "edit", "", "send_back"])
def test_no_other_act_exists_for_several(alice, session, three, act):
    response = bulk(signed_in(alice), session, act, confirmed="yes", reason="x")
    assert response.status_code == 422
    assert {reload(item).state for item in three} == {"flagged"}


@pytest.mark.parametrize("items", [[], ["x"], ["x:1:y"], [f"{'0' * 32}:a:b"]])
def test_ticks_that_cannot_be_read_are_422(alice, session, items):
    assert bulk(signed_in(alice), session, "claim", items).status_code == 422


def test_a_manager_has_no_boxes_and_may_not(session, three):
    client = signed_in(person(Role.MANAGER))
    assert ticked(client, session) == []
    items = [f"{item.pk}:{item.version}:{item.content_digest}" for item in three]
    assert bulk(client, session, "claim", items).status_code == 403
    assert holders(three) == {}


def test_rows_are_as_dense_as_the_browser_was_told(alice):
    client = signed_in(alice)
    assert 'data-density="compact"' not in client.get("/queue/").content.decode()
    client.post("/density/", {"density": "compact", "next": "/queue/"})
    assert 'data-density="compact"' in client.get("/queue/").content.decode()
    client.post("/density/", {"density": "tiny", "next": "/queue/"})
    assert 'data-density="compact"' in client.get("/queue/").content.decode()
