"""What somebody types into the filter bar becomes filters; what cannot be used is named and kept."""

from __future__ import annotations

from datetime import timedelta

import pytest

from checkpoints.models import Handoff
from reviewqueue.models import Role, Viewing
from reviewqueue.pages import terms, waiting
from reviewqueue.services import claiming, deciding
from tests.characters import flagged, form, fresh, high_risk, orchestrator, person, reload
from tests.test_pages_queue import row_ids
from tests.visiting import page_text, signed_in


def test_words_and_terms_are_told_apart():
    parsed = terms.parse("is:unclaimed pay severity:HIGH role:billing Ruiz is:edited age:>10m")
    assert parsed.given == {"is": "unclaimed,edited", "severity": "high", "role": "billing", "age": ">10m"}
    assert (parsed.words, parsed.faults) == ("pay Ruiz", [])


def test_a_value_with_spaces_stands_in_quotes_and_other_colons_are_words():
    parsed = terms.parse('role:"night shift" https://example/9 10:30 note:this')
    assert parsed.given == {"role": "night shift"}
    assert parsed.words == "https://example/9 10:30 note:this"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("is:x", "“is:x” is not known. Use one of unclaimed,"),
        ("severity:extreme", "Use one of high, medium, low, none."),
        ("age:soon", "Write age:>10m"),
        ("age:10", "Write age:>10m"),
        ("role:", "needs a value right after the colon, as in role:billing"),
        (" ".join(["is:edited"] * 30), "At most 20 terms"),
    ],
)
def test_a_term_that_cannot_be_used_says_what_can(text, said):
    assert said in terms.parse(text).faults[0]


def test_an_age_is_longer_or_less_than_a_time():
    assert terms.age(">10m") == terms.Age(timedelta(minutes=10), younger=False)
    assert terms.age("2h") == terms.Age(timedelta(hours=2), younger=False)
    assert terms.age("<1d") == terms.Age(timedelta(days=1), younger=True)
    assert terms.age("9999999d") is None


pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(db):
    return person(name="alice")


def shown(client, session, text, **more):
    return row_ids(client.get("/queue/", {"q": f"session:{session} {text}", **more}, follow=True))


def test_typed_terms_become_the_address_and_chips_that_take_them_away(alice):
    response = signed_in(alice).get("/queue/", {"q": "is:unclaimed severity:high is:edited refund"})
    assert response.status_code == 302
    assert response["Location"] == "/queue/?is=unclaimed%2Cedited&severity=high&q=refund"
    page = signed_in(alice).get(response["Location"]).content.decode()
    assert 'href="/queue/?is=edited&amp;severity=high&amp;q=refund" aria-label="Remove the filter is"' in page
    assert 'href="/queue/?is=unclaimed%2Cedited&amp;q=refund" aria-label="Remove the filter severity"' in page
    assert 'name="q" value="refund"' in page


def test_boxes_of_the_form_add_up_and_empty_fields_leave_the_address(alice):
    response = signed_in(alice).get("/queue/?q=&severity=&is=edited&is=reopened&role=")
    assert response["Location"] == "/queue/?is=edited%2Creopened"


def test_a_wrong_term_is_named_and_the_text_stays(alice):
    session = fresh("session")
    flagged(orchestrator(), session_id=session)
    response = signed_in(alice).get("/queue/", {"q": f"is:x session:{session} pay"})
    assert response.status_code == 400
    assert "“is:x” is not known" in page_text(response)
    assert f'value="is:x session:{session} pay"' in response.content.decode()
    assert "data-poll" not in response.content.decode()


@pytest.mark.parametrize("query", ["is=x", "age=soon", "is=edited,x"])
def test_an_address_with_a_filter_that_is_none_is_400(alice, query):
    assert signed_in(alice).get(f"/queue/?{query}").status_code == 400


def test_each_state_finds_its_rows_and_no_others(alice):
    session, owner = fresh("session"), orchestrator()
    held = flagged(owner, session_id=session, task_id="T-1")
    free = flagged(owner, session_id=session, handoff_sequence=2, task_id="T-2")
    half = high_risk(owner, session_id=session, handoff_sequence=3, task_id="T-3")
    late = flagged(owner, session_id=session, handoff_sequence=4, task_id="T-4")
    claiming.claim(handoff_id=held.pk, reviewer=alice)
    deciding.decide(handoff_id=half.pk, reviewer=person(Role.SENIOR_OPERATOR), form=form(reload(half)))
    when = late.flagged_at - timedelta(hours=3)
    Handoff.objects.filter(pk=late.pk).update(flagged_at=when, review_deadline=when + timedelta(hours=1))
    Handoff.objects.filter(pk=free.pk).update(revision=2, reopened=True, last_attempt=1)
    client = signed_in(alice)
    held_id, free_id, half_id, late_id = (str(item.pk) for item in (held, free, half, late))
    assert shown(client, session, "is:mine") == shown(client, session, "is:claimed") == [held_id]
    assert set(shown(client, session, "is:unclaimed")) == {free_id, half_id, late_id}
    assert shown(client, session, "is:edited") == [free_id]
    assert shown(client, session, "is:reopened") == shown(client, session, "is:returned") == [free_id]
    assert shown(client, session, "is:overdue") == shown(client, session, "is:untold") == [late_id]
    assert shown(client, session, "is:high-risk") == shown(client, session, "is:half-approved") == [half_id]
    assert shown(client, session, "is:escalated") == []
    assert shown(client, session, "age:>2h") == [late_id]
    assert set(shown(client, session, "age:<2h")) == {held_id, free_id, half_id}
    assert shown(client, session, "is:unclaimed is:overdue") == [late_id]
    assert set(waiting.STATES) == set(terms.IS)


def test_nobody_was_told_until_somebody_opens_it(alice):
    session = fresh("session")
    handoff = flagged(orchestrator(), session_id=session)
    client = signed_in(alice)
    assert "nobody told" not in page_text(client.get("/queue/", {"session": session})).split("Severity")[-1]
    when = handoff.flagged_at - timedelta(minutes=40)
    Handoff.objects.filter(pk=handoff.pk).update(flagged_at=when, review_deadline=when + timedelta(hours=1))
    assert " nobody told" in page_text(client.get("/queue/", {"session": session}))
    Viewing.objects.create(handoff=handoff, revision=1, viewer=alice, first_at=handoff.received_at)
    assert " nobody told" not in page_text(client.get("/queue/", {"session": session}))


def test_a_row_says_until_when_somebody_holds_it_and_that_it_came_back(alice):
    session = fresh("session")
    handoff = flagged(orchestrator(), session_id=session)
    claim = claiming.claim(handoff_id=handoff.pk, reviewer=person(name="bob"))
    Handoff.objects.filter(pk=handoff.pk).update(last_attempt=2)
    words = page_text(signed_in(alice).get("/queue/", {"session": session}))
    assert f"until {claim.expires_at:%H:%M} UTC" in words
    assert "returned sent 2 times" in words
