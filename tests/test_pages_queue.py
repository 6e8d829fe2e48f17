"""The review queue as people see it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from checkpoints.models import Handoff
from reviewqueue.models import Role, User
from reviewqueue.pages import waiting
from reviewqueue.services import claiming, deciding
from tests.characters import document, flagged, form, fresh, high_risk, judged, orchestrator, person, reload
from tests.visiting import detail_url, page_text, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(db: None) -> User:
    return person(name="alice")


def titled(words: str) -> dict[str, Any]:
    return {
        "handoff_target": {"target_role": "billing", "handoff_reason": words, "expected_return": False},
    }


def approve(handoff: Handoff, reviewer: User) -> None:
    deciding.decide(handoff_id=handoff.pk, reviewer=reviewer, form=form(reload(handoff)))


def row_ids(response: Any) -> list[str]:
    return re.findall(r'<tr id="row-([0-9a-f-]+)"', response.content.decode())


def test_an_item_shows_what_a_person_needs_to_choose_it(alice):
    session = fresh("session")
    handoff = high_risk(orchestrator(), session_id=session, **titled("Pay 900 EUR to Ruiz"))
    words = page_text(signed_in(alice).get("/queue/", {"session": session}))
    assert "In the agent’s words: Pay 900 EUR to Ruiz" in words
    assert "triage hands to billing" in words
    assert handoff.finding_count == 1
    assert "High-risk handoff and 1 finding" in words
    assert "0 of 2 approvals" in words
    assert re.search(r"1[45] min left", words)


def test_the_worst_severity_stands_first_and_then_the_nearest_deadline(alice):
    session, owner = fresh("session"), orchestrator()
    calm = flagged(owner, session_id=session, task_id="T-1")
    step = document()["completed_steps"][0]
    bad = judged(
        owner, document(session_id=session, handoff_sequence=2, task_id="T-2", completed_steps=[step, step])
    )
    urgent = high_risk(owner, session_id=session, handoff_sequence=3, task_id="T-3")
    response = signed_in(alice).get("/queue/", {"session": session})
    assert "The same step stands twice in completed_steps" in page_text(response)
    found = row_ids(response)
    assert bad.severity == 3
    assert urgent.severity < 3, "high risk sorts as high, without a high finding"
    high = sorted([bad, urgent], key=lambda item: str(item.review_deadline))
    assert found == [str(item.pk) for item in (*high, calm)]
    only_high = row_ids(signed_in(alice).get("/queue/", {"session": session, "severity": "high"}))
    assert str(urgent.pk) in only_high, "the filter means what the list shows"
    assert str(calm.pk) not in only_high
    assert "Most severe first, high risk counting as high, then the nearest deadline" in page_text(response)


def test_high_risk_and_a_wanted_second_approver_have_tabs(alice):
    session, owner = fresh("session"), orchestrator()
    flagged(owner, session_id=session, task_id="T-1")
    untouched = high_risk(owner, session_id=session, handoff_sequence=2, task_id="T-2")
    half = high_risk(owner, session_id=session, handoff_sequence=3, task_id="T-3")
    client = signed_in(alice)
    assert "Needs second approver 0" in page_text(client.get("/queue/", {"session": session}))
    approve(half, person(Role.SENIOR_OPERATOR))
    response = client.get("/queue/", {"session": session})
    assert "Needs second approver 1" in page_text(response)
    assert "High risk 2" in page_text(response)
    assert row_ids(client.get("/queue/", {"session": session, "view": "second"})) == [str(half.pk)]
    risky = row_ids(client.get("/queue/", {"session": session, "view": "risk"}))
    assert risky == [str(untouched.pk), str(half.pk)]
    approve(half, alice)
    assert "Needs second approver 0" in page_text(client.get("/queue/", {"session": session}))


def test_the_tabs_count_what_they_show(alice):
    session, owner = fresh("session"), orchestrator()
    mine = flagged(owner, session_id=session, task_id="T-1")
    flagged(owner, session_id=session, handoff_sequence=2, task_id="T-2")
    bad = document(session_id=session, handoff_sequence=3, task_id="T-3")
    bad["completed_steps"][0]["description"] = "Changed after hashing"
    rejected = judged(owner, bad)
    claiming.claim(handoff_id=mine.pk, reviewer=alice)
    client = signed_in(alice)
    words = page_text(client.get("/queue/", {"session": session}))
    assert "Waiting 2" in words
    assert "Mine 1" in words
    assert "Escalated 0" in words
    assert "Rejected 1" in words
    assert row_ids(client.get("/queue/", {"session": session, "view": "mine"})) == [str(mine.pk)]
    assert row_ids(client.get("/queue/", {"session": session, "view": "rejected"})) == [str(rejected.pk)]


def test_an_expired_claim_is_nobodys(alice):
    session = fresh("session")
    handoff = flagged(orchestrator(), session_id=session)
    claim = claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    claim.expires_at = timezone.now() - timedelta(seconds=1)
    claim.save()
    client = signed_in(alice)
    assert row_ids(client.get("/queue/", {"session": session, "view": "mine"})) == []
    assert "Claim this handoff" in page_text(client.get("/queue/", {"session": session}))


def test_filters_narrow_the_list_and_stand_in_the_address(alice):
    session, owner = fresh("session"), orchestrator()
    pay = flagged(owner, session_id=session, task_id="T-1", **titled("Pay the plumber 100%"))
    flagged(owner, session_id=session, handoff_sequence=2, task_id="T-2", **titled("Book a train"))
    client = signed_in(alice)
    assert row_ids(client.get("/queue/", {"session": session, "q": "plumber"})) == [str(pay.pk)]
    assert row_ids(client.get("/queue/", {"session": session, "q": "100%"})) == [str(pay.pk)]
    assert row_ids(client.get("/queue/", {"session": session, "q": "%"})) == [str(pay.pk)]
    assert row_ids(client.get("/queue/", {"session": session, "role": "nobody"})) == []
    assert len(row_ids(client.get("/queue/", {"session": session, "role": "billing"}))) == 2
    assert len(row_ids(client.get("/queue/", {"session": session, "finding": pay.finding_codes[0]}))) == 2
    assert row_ids(client.get("/queue/", {"session": session, "severity": "high"})) == []
    response = client.get("/queue/", {"session": session, "q": "plumber"})
    assert (
        f'href="/queue/?session={session}" aria-label="Remove the filter search"' in response.content.decode()
    )


@pytest.mark.parametrize(
    "query",
    [
        "view=bulk",
        "view=second-approver",
        "severity=extreme",
        "page=2",
        "q=a&q=b",
        "after=!!!",
        "after=bnVsbA",
        "after=WzEsIDIsIDNd",
        "after=a&before=b",
        "q=%00",
        "role=" + "x" * 301,
    ],
)
def test_an_address_that_cannot_be_used_is_400_and_says_why(alice, query):
    response = signed_in(alice).get(f"/queue/?{query}")
    assert response.status_code == 400
    assert "This request cannot be used" in page_text(response)


def test_paging_reaches_every_row_once_and_comes_back(alice, monkeypatch):
    monkeypatch.setattr(
        "reviewqueue.pages.keyset.take.__kwdefaults__", {"after": "", "before": "", "size": 2}
    )
    session, owner = fresh("session"), orchestrator()
    for number in range(1, 6):
        flagged(owner, session_id=session, handoff_sequence=number, task_id=f"T-{number}")
    client = signed_in(alice)
    address, seen, pages = f"/queue/?session={session}", [], []
    while address:
        response = client.get(address)
        pages.append(row_ids(response))
        seen += pages[-1]
        link = re.search(r'<a class="btn" href="([^"]+)" rel="next"', response.content.decode())
        address = link[1].replace("&amp;", "&") if link else ""
    assert len(seen) == len(set(seen)) == 5
    assert [len(page) for page in pages] == [2, 2, 1]
    back = re.search(r'<a class="btn" href="([^"]+)" rel="prev"', response.content.decode())[1]
    assert row_ids(client.get(back.replace("&amp;", "&"))) == pages[1]


def test_a_poll_is_304_until_something_changes(alice):
    session, owner = fresh("session"), orchestrator()
    handoff = flagged(owner, session_id=session)
    client = signed_in(alice)
    poll = {"HTTP_HX_REQUEST": "true"}
    first = client.get("/queue/", {"session": session, "view": "mine"}, **poll)
    address = {"session": session}
    first = client.get("/queue/", address, **poll)
    assert first.status_code == 200
    assert b"<html" not in first.content
    assert b'id="live"' in first.content
    assert "HX-Request" in first["Vary"]
    assert first["Cache-Control"] == "no-store, private"
    same = client.get("/queue/", address, HTTP_IF_NONE_MATCH=first["ETag"], **poll)
    assert (same.status_code, same.content) == (304, b"")
    claiming.claim(handoff_id=handoff.pk, reviewer=person(name="bob"))
    changed = client.get("/queue/", address, HTTP_IF_NONE_MATCH=first["ETag"], **poll)
    assert changed.status_code == 200
    whole = client.get("/queue/", address, HTTP_IF_NONE_MATCH=changed["ETag"])
    assert whole.status_code == 200, "the version of a fragment is not the version of the page"


def test_a_poll_after_the_session_ended_is_401_and_no_page(alice):
    client = signed_in(alice)
    client.logout()
    response = client.get("/queue/", HTTP_HX_REQUEST="true")
    assert (response.status_code, response.content) == (401, b"")


def test_counts_stop_at_a_thousand(db, monkeypatch):
    monkeypatch.setattr(waiting, "MOST_COUNTED", 1)
    owner = orchestrator()
    for number in (1, 2):
        flagged(owner, task_id=f"T-{number}")
    assert waiting.capped_count(Handoff.objects.filter(orchestrator=owner)) == "1+"
    assert waiting.capped_count(Handoff.objects.filter(orchestrator=owner, task_id="T-1")) == "1"


def test_the_rejected_count_has_a_smaller_cap_and_the_badge_says_so(db, monkeypatch):
    monkeypatch.setattr(waiting, "MOST_REJECTED", 0)
    before = waiting.badge()
    owner, bad = orchestrator(), document()
    bad["completed_steps"][0]["description"] = "Changed after hashing"
    assert judged(owner, bad).state == "rejected"
    assert waiting.tab_count("rejected", Handoff.objects.filter(orchestrator=owner).rejected_unseen()) == "0+"
    assert waiting.badge().endswith("+")
    assert waiting.badge().rstrip("+") == before.rstrip("+")


def test_an_empty_list_says_so_in_words(alice):
    flagged(orchestrator())  # somebody else's: the queue as a whole is not empty
    words = page_text(signed_in(alice).get("/queue/", {"session": fresh("none")}))
    assert "Nothing matches these filters" in words
    assert "You hold no claim" in page_text(signed_in(alice).get("/queue/?view=mine"))


def test_managers_look_and_claim_nothing(db):
    session = fresh("session")
    handoff = flagged(orchestrator(), session_id=session)
    response = signed_in(person(Role.MANAGER)).get("/queue/", {"session": session})
    assert f"/handoffs/{handoff.pk}/claim/" not in response.content.decode()
    assert detail_url(handoff) in response.content.decode()


def test_claiming_from_the_queue_comes_back_to_it(alice):
    session = fresh("session")
    handoff = flagged(orchestrator(), session_id=session)
    address = f"/queue/?session={session}"
    response = signed_in(alice).post(f"{detail_url(handoff)}claim/", {"next": address})
    assert (response.status_code, response["Location"]) == (303, address)
    away = signed_in(alice).post(f"{detail_url(handoff)}claim/", {"next": "//evil.example/"})
    assert away["Location"] == detail_url(handoff)
