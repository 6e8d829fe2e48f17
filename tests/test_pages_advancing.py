"""After a decision the next open handoff of the same list opens, as its person wants it; never after a refusal."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from checkpoints.models import Handoff
from reviewqueue.models import AfterDecision, Role, User
from reviewqueue.services import claiming, deciding
from tests.characters import flagged, form, fresh, high_risk, orchestrator, person, reload
from tests.visiting import decide, detail_url, page_text, signed_in

pytestmark = pytest.mark.django_db


class Desk:
    """Three handoffs of one session, in the order of its list, and a person in front of it."""

    def __init__(self, role: Role = Role.OPERATOR, make: Any = flagged) -> None:
        owner, self.session = orchestrator(), fresh("session")
        self.rows: list[Handoff] = [
            make(owner, session_id=self.session, handoff_sequence=place, task_id=f"T-{place}")
            for place in (1, 2, 3)
        ]
        self.alice = person(role, name="alice")
        self.client = signed_in(self.alice)
        self.query = urlencode({"session": self.session})

    def page(self, handoff: Handoff) -> str:
        return f"{detail_url(handoff)}?{urlencode({'list': self.query})}"

    def decide(self, handoff: Handoff, action: str = "approve", **fields: Any) -> Any:
        fields = {"reason": "Looked at it", "list": self.query, **fields}
        return decide(self.client, handoff, action, **fields)


def test_the_rows_of_the_queue_say_which_list_they_stand_in(db):
    desk = Desk()
    listing = desk.client.get(f"/queue/?{desk.query}").content.decode()
    assert f'href="{desk.page(desk.rows[0])}"' in listing
    page = desk.client.get(desk.page(desk.rows[0])).content.decode()
    assert f'name="list" value="{desk.query}"' in page
    assert f'href="/queue/?{desk.query}" data-back' in page


def test_the_next_of_the_list_opens_and_the_flash_names_what_was_decided(db):
    desk = Desk()
    first, second, third = desk.rows
    response = desk.decide(second, "abort")
    assert (response.status_code, response["Location"]) == (303, desk.page(third))
    text = page_text(desk.client.get(response["Location"]))
    assert "Aborted. The sender is told with your reason. It was Billing prices repairs . Back to it" in text
    response = desk.decide(third)
    assert response["Location"] == desk.page(first), "from the end it goes on at the top"
    told = desk.client.get(response["Location"]).content.decode()
    assert f'<a href="{detail_url(third)}#decision">Back to it, or take it back</a>' in told
    response = desk.decide(first)
    assert response["Location"] == f"/queue/?{desk.query}"
    assert "Nothing else of this list waits for you." in page_text(desk.client.get(response["Location"]))
    assert [reload(row).state for row in desk.rows] == ["approved", "aborted", "approved"]


@pytest.mark.parametrize("choice", list(AfterDecision))
def test_everybody_chooses_where_a_decision_leads(db, choice):
    desk = Desk()
    first, second, _ = desk.rows
    response = desk.client.post("/settings/", {"after_decision": choice.value})
    assert response.status_code == 303
    assert f'value="{choice.value}" checked' in desk.client.get("/settings/").content.decode()
    leads_to = {"next": desk.page(second), "list": f"/queue/?{desk.query}", "stay": desk.page(first)}
    assert desk.decide(first)["Location"] == leads_to[choice.value]
    assert desk.client.post("/settings/", {"after_decision": "jump"}).status_code == 422
    assert f'value="{choice.value}" checked' in desk.client.get("/settings/").content.decode()


def test_nothing_moves_on_after_a_conflict_or_a_mistake(db):
    desk = Desk()
    first = desk.rows[0]
    missing = desk.decide(first, "abort", reason="")
    assert missing.status_code == 422
    assert f'name="list" value="{desk.query}"' in missing.content.decode(), "the list is not forgotten"
    deciding.decide(handoff_id=first.pk, reviewer=person(name="bob"), form=form(first, "abort"))
    late = desk.client.post(
        f"{detail_url(first)}decide/",
        {
            "action": "approve",
            "reason": "Mine",
            "content_digest": first.content_digest,
            "version": first.version,
            "list": desk.query,
        },
    )
    assert late.status_code == 409
    assert "Mine" in late.content.decode()


def test_what_others_work_on_and_what_waits_for_others_is_passed_over(db):
    desk = Desk(Role.SENIOR_OPERATOR, high_risk)
    first, second, third = desk.rows
    claiming.claim(handoff_id=second.pk, reviewer=person(name="bob"))
    assert desk.decide(first)["Location"] == desk.page(third)
    assert reload(first).state == "flagged", "it waits for a second person"
    assert desk.decide(third)["Location"] == f"/queue/?{desk.query}"


@pytest.mark.parametrize(
    "named", [None, "view=nowhere", "x=1", "q=a&q=b", "severity=loud", "session=" + "s" * 3000]
)
def test_without_a_list_of_ours_a_decision_stays_with_its_handoff(db, named):
    desk = Desk()
    first = desk.rows[0]
    fields = {"reason": "Looked at it"} | ({} if named is None else {"list": named})
    assert decide(desk.client, first, "approve", **fields)["Location"] == detail_url(first)


def test_an_address_that_a_program_sends_along_still_wins_without_a_list(db):
    desk = Desk()
    response = decide(desk.client, desk.rows[0], "approve", next="/sessions/x/")
    assert response["Location"] == "/sessions/x/"


def following(user: User, handoff: Handoff, query: str) -> str:
    body = signed_in(user).get(f"{detail_url(handoff)}?{urlencode({'list': query})}").content.decode()
    return body[body.index('class="following"') :][:300]


def test_a_decided_handoff_offers_the_next_of_the_list(db):
    desk = Desk()
    first, second, _ = desk.rows
    desk.decide(first)
    offered = following(desk.alice, first, desk.query)
    assert detail_url(second) in offered and "Next in the list" in offered
