"""The forms of contract §7, sent as a browser and as a stranger would send them."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.http import QueryDict
from django.test import Client

from checkpoints.models import AuditEntry, Decision
from reviewqueue.models import Claim, Role
from reviewqueue.pages import forms
from reviewqueue.pages.editing import visible_json
from reviewqueue.services import claiming
from tests.characters import (
    document,
    flagged,
    fresh,
    high_risk,
    judged,
    orchestrator,
    person,
    reload,
    together,
)
from tests.visiting import PASSWORD, decide, detail_url, hidden_fields, page_text, signed_in

pytestmark = pytest.mark.django_db


def rejected(owner=None):
    value = document()
    value["completed_steps"][0]["description"] = "Changed after hashing"
    handoff = judged(owner or orchestrator(), value)
    assert handoff.state == "rejected"
    return handoff


def decisions_of(handoff):
    return Decision.objects.filter(handoff=handoff).count()


def test_signing_in_needs_the_right_password_and_leads_to_the_queue(db):
    alice = person(name="alice")
    client = Client()
    page = client.get("/accounts/login/")
    assert 'name="login"' in page.content.decode()
    assert 'name="password"' in page.content.decode()
    wrong = client.post("/accounts/login/", {"login": alice.username, "password": "wrong"})
    assert wrong.status_code == 200
    assert 'role="alert"' in wrong.content.decode()
    right = client.post("/accounts/login/", {"login": alice.username, "password": PASSWORD})
    assert (right.status_code, right["Location"]) == (302, "/")
    assert client.get("/", follow=True).redirect_chain == [("/queue/", 302)]


def test_approving_answers_303_and_mints_a_ticket(db):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    response = decide(client, handoff, "approve", reason="Checked")
    assert (response.status_code, response["Location"]) == (303, detail_url(handoff))
    assert reload(handoff).state == "approved"
    words = page_text(client.get(detail_url(handoff)))
    assert f"Approved with ticket {reload(handoff).approval_ticket_reference}." in words


@pytest.mark.parametrize(
    ("action", "fields", "state"),
    [
        ("abort", {"reason": "Wrong customer", "advice": "restart"}, "aborted"),
        ("send_back", {"question": "Which invoice?"}, "aborted"),
        ("escalate", {}, "escalated"),
    ],
)
def test_the_other_decisions_answer_303_too(db, action, fields, state):
    handoff = flagged(orchestrator())
    response = decide(signed_in(person()), handoff, action, **fields)
    assert response.status_code == 303
    assert reload(handoff).state == state


def test_what_is_missing_is_said_beside_its_field_and_the_rest_is_kept(db):
    handoff = high_risk(orchestrator())
    response = decide(signed_in(person()), handoff, "approve", question="Half typed", advice="restart")
    assert response.status_code == 422
    body = response.content.decode()
    assert "Half typed</textarea>" in body
    assert re.search(r'<option value="restart" selected>', body)
    assert re.search(r'<textarea id="reason"[^>]*aria-invalid="true"', body)
    assert 'id="problem" autofocus' in body
    assert decisions_of(handoff) == 0


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"content_digest": ""}, 422),
        ({"version": ""}, 422),
        ({"version": "1e3"}, 422),
        ({"version": "٣"}, 422),
        ({"action": "approve_all"}, 422),
        ({"action": "APPROVE "}, 422),
        ({"action": "edit"}, 422),
        ({"target": "elsewhere"}, 422),
        ({"advice": "retry"}, 422),
        ({"decided_by": "admin"}, 422),
        ({"role": "admin"}, 422),
        ({"reason": "x" * 100_001}, 422),
        ({"reason": "a\0b"}, 422),
        ({"answer:none": "yes"}, 422),
        ({"reconcile:none": "happened"}, 422),
        ({"action": ["approve", "abort"]}, 400),
        ({"reason": ["one", "two"]}, 400),
        ({"answer:d": ["one", "two"]}, 400),
    ],
)
def test_a_form_that_is_not_ours_changes_nothing(db, change, status):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    fields = {
        **hidden_fields(client.get(detail_url(handoff))),
        "action": "approve",
        "reason": "Fine",
        **change,
    }
    response = client.post(f"{detail_url(handoff)}decide/", fields)
    assert response.status_code == status
    assert reload(handoff).state == "flagged"
    assert decisions_of(handoff) == 0


def test_missing_digest_and_version_are_422_and_the_text_is_kept(db):
    handoff = flagged(orchestrator())
    response = signed_in(person()).post(
        f"{detail_url(handoff)}decide/", {"action": "approve", "reason": "Typed with care"}
    )
    assert response.status_code == 422
    assert "Typed with care</textarea>" in response.content.decode()
    assert "“content_digest” is missing." in page_text(response)


def test_the_second_of_two_people_is_told_who_decided_and_keeps_the_text(db):
    handoff = flagged(orchestrator())
    alice, bob = person(name="alice"), person(name="bob")
    late = signed_in(bob)
    seen = hidden_fields(late.get(detail_url(handoff)))
    assert decide(signed_in(alice), handoff, "abort", reason="Wrong customer").status_code == 303
    response = late.post(
        f"{detail_url(handoff)}decide/", {**seen, "action": "approve", "reason": "Looked fine to me"}
    )
    assert response.status_code == 409
    words = page_text(response)
    assert "Your decision was not carried out" in words
    assert f"{alice.label} decided abort at" in words
    assert "Looked fine to me" in response.content.decode()
    assert decisions_of(handoff) == 1


def test_a_stale_screen_is_409_and_the_new_content_is_shown_with_the_typed_text(db):
    handoff = flagged(orchestrator())
    bob = signed_in(person(name="bob"))
    seen = hidden_fields(bob.get(detail_url(handoff)))
    editor = signed_in(person(name="alice"))
    page = editor.get(f"{detail_url(handoff)}edit/")
    text = re.search(r'<textarea class="code"[^>]*>(.*?)</textarea>', page.content.decode(), re.DOTALL)[1]
    value = json.loads(html.unescape(text))
    value["active_constraints"].append("eu_only")
    saved = editor.post(
        f"{detail_url(handoff)}edit/",
        {**hidden_fields(page), "document": json.dumps(value), "reason": "The region was missing"},
    )
    assert saved.status_code == 303, page_text(saved)
    response = bob.post(
        f"{detail_url(handoff)}decide/", {**seen, "action": "approve", "reason": "Seen revision one"}
    )
    assert response.status_code == 409
    assert "The content changed after you opened this page." in page_text(response)
    assert "Seen revision one</textarea>" in response.content.decode()
    assert hidden_fields(response)["content_digest"] == reload(handoff).content_digest
    assert reload(handoff).state == "flagged"


def test_two_people_decide_at_once_and_one_wins(db):
    handoff = flagged(orchestrator())
    clients = [signed_in(person(name=name)) for name in ("alice", "bob")]
    seen = hidden_fields(clients[0].get(detail_url(handoff)))

    def send(client):
        return lambda: (
            client.post(
                f"{detail_url(handoff)}decide/", {**seen, "action": "approve", "reason": "Fine"}
            ).status_code
        )

    assert sorted(together(*(send(client) for client in clients))) == [303, 409]
    assert decisions_of(handoff) == 1


def test_a_double_click_is_one_decision(db):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    fields = {**hidden_fields(client.get(detail_url(handoff))), "action": "approve", "reason": "Fine"}
    codes = [client.post(f"{detail_url(handoff)}decide/", fields).status_code for _ in range(2)]
    assert codes == [303, 303]
    assert decisions_of(handoff) == 1


def test_anothers_claim_refuses_and_is_taken_over_with_a_reason(db):
    handoff = flagged(orchestrator())
    alice, bob = person(name="alice"), person(name="bob")
    claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    client = signed_in(bob)
    refused = decide(client, handoff, "approve", reason="Fine")
    assert refused.status_code == 409
    assert alice.label in page_text(refused)
    silent = client.post(f"{detail_url(handoff)}claim/")
    assert silent.status_code == 409
    taken = client.post(f"{detail_url(handoff)}claim/", {"reason": "Alice is at lunch"})
    assert taken.status_code == 303
    assert Claim.objects.get(handoff=handoff).holder == bob
    assert client.post(f"{detail_url(handoff)}release/").status_code == 303
    assert not Claim.objects.filter(handoff=handoff).exists()


def test_approving_twice_is_refused_with_the_text_kept(db):
    handoff = high_risk(orchestrator())
    senior = signed_in(person(Role.SENIOR_OPERATOR))
    assert decide(senior, handoff, "approve", reason="First look").status_code == 303
    page = senior.get(detail_url(handoff))
    assert re.search(r'value="approve" data-approve disabled', page.content.decode())
    fields = {**hidden_fields(page), "content_digest": reload(handoff).content_digest}
    again = senior.post(f"{detail_url(handoff)}decide/", {**fields, "action": "abort", "reason": ""})
    assert again.status_code == 422


def test_only_a_person_who_may_approve_high_risk_completes_it(db):
    handoff = high_risk(orchestrator())
    assert decide(signed_in(person()), handoff, "approve", reason="First").status_code == 303
    refused = decide(signed_in(person()), handoff, "approve", reason="Second, typed in vain")
    assert refused.status_code == 403
    assert "Second, typed in vain" in refused.content.decode()
    done = decide(signed_in(person(Role.SENIOR_OPERATOR)), handoff, "approve", reason="Second")
    assert done.status_code == 303
    assert reload(handoff).state == "approved"


def test_an_approval_is_taken_back(db):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    decide(client, handoff, "approve", reason="Fine")
    assert client.post(f"{detail_url(handoff)}undo/").status_code == 303
    assert reload(handoff).state == "flagged"
    assert client.post(f"{detail_url(handoff)}undo/").status_code == 409


def test_a_rejected_handoff_is_reopened_with_a_reason(db):
    handoff = rejected()
    client = signed_in(person(Role.SENIOR_OPERATOR))
    assert client.post(f"{detail_url(handoff)}reopen/", {"reason": " "}).status_code == 422
    assert (
        client.post(f"{detail_url(handoff)}reopen/", {"reason": "The hash is a known bug"}).status_code == 303
    )
    assert reload(handoff).state == "flagged"
    assert "only a senior operator may approve it" in page_text(signed_in(person()).get(detail_url(handoff)))


def test_a_rejected_handoff_is_marked_as_seen_by_aborting_it(db):
    handoff = rejected()
    response = decide(signed_in(person()), handoff, "abort", reason="Seen; the sender repairs it")
    assert response.status_code == 303
    assert reload(handoff).state == "aborted"


def test_an_answer_is_chosen_or_written_but_not_both(db):
    question = {"decision_id": "d-1", "question": "Pay?", "options": ["yes", "no"], "blocking": True}
    owner = orchestrator()

    def asked():
        return judged(
            owner, document(pending_decisions=[question], task_status="blocked", task_id=fresh("T"))
        )

    client = signed_in(person())
    handoff = asked()
    missing = decide(client, handoff, "approve", reason="Fine", **{"answer:d-1": ["", ""]})
    assert missing.status_code == 422
    assert (
        decide(client, handoff, "approve", reason="Fine", **{"answer:d-1": ["yes", "maybe"]}).status_code
        == 400
    )
    assert decide(client, handoff, "approve", reason="Fine", **{"answer:d-1": ["yes", ""]}).status_code == 303
    assert Decision.objects.get(handoff=handoff).answers[0]["answer"] == "yes"
    other = asked()
    assert (
        decide(client, other, "approve", reason="Fine", **{"answer:d-1": ["half of it"]}).status_code == 303
    )
    assert Decision.objects.get(handoff=other).answers[0]["answer"] == "half of it"


def edit(client, handoff, change, **fields):
    page = client.get(f"{detail_url(handoff)}edit/")
    text = re.search(r'<textarea class="code"[^>]*>(.*?)</textarea>', page.content.decode(), re.DOTALL)[1]
    value = json.loads(html.unescape(text))
    change(value)
    return client.post(
        f"{detail_url(handoff)}edit/",
        {**hidden_fields(page), "document": json.dumps(value), "reason": "Repaired", **fields},
    )


def test_an_edit_is_a_new_revision(db):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    response = edit(client, handoff, lambda value: value["active_constraints"].append("eu_only"))
    assert (response.status_code, response["Location"]) == (303, detail_url(handoff))
    assert reload(handoff).revision == 2
    words = page_text(client.get(detail_url(handoff)))
    assert "Revision 2 by" in words
    assert "Changes since revision 1" in words
    assert "2 added" in words
    assert "eu_only" in words


def test_an_edit_that_cannot_be_saved_keeps_every_character(db):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    page = client.get(f"{detail_url(handoff)}edit/")
    text = '{"broken": </textarea><script>1</script>'
    response = client.post(
        f"{detail_url(handoff)}edit/", {**hidden_fields(page), "document": text, "reason": "Typed reason"}
    )
    assert response.status_code == 422
    body = response.content.decode()
    assert "&lt;/textarea&gt;&lt;script&gt;1&lt;/script&gt;</textarea>" in body
    assert "Typed reason</textarea>" in body
    assert reload(handoff).revision == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda value: None,
        lambda value: value.update(session_id="another"),
        lambda value: value.update(agent_id="somebody/1"),
        lambda value: value.pop("task_status"),
    ],
    ids=["no change", "session", "agent", "a required member"],
)
def test_an_edit_the_rules_refuse_is_422_and_stores_nothing(db, change):
    handoff = flagged(orchestrator())
    response = edit(signed_in(person()), handoff, change)
    assert response.status_code == 422
    assert reload(handoff).revision == 1


def test_an_edit_of_a_decided_handoff_is_409_with_the_text(db):
    handoff = flagged(orchestrator())
    alice, bob = person(name="alice"), person(name="bob")
    late = signed_in(bob)
    page = late.get(f"{detail_url(handoff)}edit/")
    decide(signed_in(alice), handoff, "abort", reason="Wrong customer")
    response = late.post(
        f"{detail_url(handoff)}edit/",
        {**hidden_fields(page), "document": '{"kept": "text"}', "reason": "Repaired"},
    )
    assert response.status_code == 409
    assert "Your edit was not saved" in page_text(response)
    assert "&quot;kept&quot;" in response.content.decode()


def test_invisible_characters_of_a_document_are_escapes_in_the_editor(db):
    handoff = flagged(orchestrator(), task_id="T-\u202e1")
    body = signed_in(person()).get(f"{detail_url(handoff)}edit/").content.decode()
    assert "\\u202e" in body
    assert "\u202e" not in body
    assert json.loads(visible_json('{"a": "\u200b\U000e0041"}')) == {"a": "\u200b\U000e0041"}


def test_a_form_without_its_token_or_from_elsewhere_is_403(db):
    handoff = flagged(orchestrator())
    client = signed_in(person(), enforce_csrf_checks=True)
    response = client.post(f"{detail_url(handoff)}decide/", {"action": "approve"})
    assert response.status_code == 403
    assert "This form cannot be trusted" in page_text(response)
    page = client.get(detail_url(handoff))
    token = re.search(r'csrfmiddlewaretoken" value="([^"]+)', page.content.decode())[1]
    foreign = client.post(
        f"{detail_url(handoff)}decide/",
        {**hidden_fields(page), "action": "abort", "reason": "x", "csrfmiddlewaretoken": token},
        HTTP_ORIGIN="https://evil.example",
    )
    assert foreign.status_code == 403
    assert reload(handoff).state == "flagged"


@pytest.mark.parametrize("act", ["claim", "release", "decide", "reopen", "undo"])
def test_no_get_decides_anything(db, act):
    handoff = flagged(orchestrator())
    client = signed_in(person(Role.SENIOR_OPERATOR))
    for method in (client.get, client.head, client.put, client.delete):
        assert method(f"{detail_url(handoff)}{act}/").status_code == 405
    assert reload(handoff).version == handoff.version


def test_the_theme_is_remembered(db):
    client = signed_in(person())
    response = client.post("/theme/", {"theme": "dark", "next": "/queue/?q=a"})
    assert (response.status_code, response["Location"]) == (303, "/queue/?q=a")
    assert 'data-theme="dark"' in client.get("/queue/").content.decode()
    client.post("/theme/", {"theme": '"><script>'})
    assert 'data-theme="dark"' in client.get("/queue/").content.decode()


def test_an_admin_makes_a_token_once_visible_and_revokes_it(db):
    ada = signed_in(person(Role.ADMIN))
    name = fresh("orchestrator")
    made = ada.post(
        "/tokens/",
        {"orchestrator": name, "label": "CI", "days": "30", "scope": ["handoffs:read", "policy:read"]},
    )
    assert made.status_code == 201
    text = re.search(r"rq_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}", made.content.decode())[0]
    assert text not in ada.get("/tokens/").content.decode()
    reading = Client().get("/api/v1/handoffs", HTTP_AUTHORIZATION=f"Bearer {text}")
    assert reading.status_code == 200
    link = re.search(
        r'action="(/tokens/[0-9a-f-]+/revoke/)"[^>]*>(?:(?!</form>).)*' + text[3:11],
        made.content.decode(),
        re.DOTALL,
    )[1]
    assert ada.post(link).status_code == 303
    assert Client().get("/api/v1/handoffs", HTTP_AUTHORIZATION=f"Bearer {text}").status_code == 401
    assert AuditEntry.objects.filter(action="token.revoked", subject_id=name).exists()


@pytest.mark.parametrize(
    "change", [{"days": "0"}, {"days": "x"}, {"orchestrator": " "}, {"scope": ["all"]}, {"scope": []}]
)
def test_a_token_that_makes_no_sense_is_refused_beside_the_form(db, change):
    ada = signed_in(person(Role.ADMIN))
    fields = {"orchestrator": fresh("o"), "days": "30", "scope": ["policy:read"], **change}
    response = ada.post("/tokens/", fields)
    assert response.status_code == 422
    assert "rq_" not in re.sub(r"<tbody.*?</tbody>", "", response.content.decode(), flags=re.DOTALL)


def test_reading_a_form_keeps_only_its_own_fields():
    assert forms.read(QueryDict("reason=a&next=/"), forms.REASON) == {"reason": "a", "next": "/"}


def test_a_form_sent_after_the_session_ended_leads_back_to_its_page(db):
    handoff = flagged(orchestrator())
    response = Client().post(f"{detail_url(handoff)}decide/", {"action": "approve"})
    assert response.status_code == 302
    assert response["Location"] == f"/accounts/login/?next={detail_url(handoff)}"


def test_after_a_decision_the_next_item_is_offered(db):
    owner = orchestrator()
    step = document()["completed_steps"][0]
    worse = judged(owner, document(completed_steps=[step, step]))
    handoff = flagged(owner)
    client = signed_in(person())
    decide(client, handoff, "abort", reason="Wrong customer")
    body = client.get(detail_url(handoff)).content.decode()
    assert "Next in the queue" in body
    assert detail_url(handoff) not in body[body.index('class="following"') :][:200]
    assert worse.state == "flagged"
