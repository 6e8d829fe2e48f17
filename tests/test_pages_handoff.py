"""One handoff as people see it: why it stopped, what a decision does, what stands in the document."""

from __future__ import annotations

import html
import json
import re
import time

import psycopg
import pytest

from checkpoints.canonical import canonicalize, digest
from checkpoints.identifiers import uuid7
from checkpoints.models import AuditEntry, Handoff
from checkpoints.services import attempts
from reviewqueue.models import Role
from reviewqueue.pages import tree
from reviewqueue.services import claiming, deciding
from tests.characters import (
    approved,
    caller,
    dispatched,
    document,
    flagged,
    form,
    fresh,
    high_risk,
    judged,
    orchestrator,
    person,
    post,
    reload,
)
from tests.visiting import detail_url, hidden_fields, page_text, signed_in

pytestmark = pytest.mark.django_db

COVERED = ("checkpoint_id", "task_id", "task_status", "completed_steps", "pending_decisions")


def seen_by(handoff: Handoff, role: Role = Role.OPERATOR):
    return signed_in(person(role)).get(detail_url(handoff))


def repeated_step():
    step = document()["completed_steps"][0]
    return judged(orchestrator(), document(completed_steps=[step, step]))


def test_the_verdict_says_why_it_stopped_and_what_an_approval_does(db):
    handoff = repeated_step()
    words = page_text(seen_by(handoff))
    assert "Stopped: the same step stands twice in completed_steps" in words
    assert (
        f"If approved, billing receives revision 1 {handoff.content_digest[7:19]} exactly as shown" in words
    )
    assert "If nobody decides in time, it is escalated." in words


def test_a_finding_leads_to_its_place_in_the_document(db):
    response = seen_by(repeated_step())
    body = response.content.decode()
    target = re.search(r'href="#(at/completed_steps/1[^"]*)" data-jump', body)[1]
    assert f'id="{target}"' in body
    outer = re.search(r'<details id="at/completed_steps/1"[^>]*>', body)[0]
    assert " open" in outer, "the way to the place is unfolded without script"
    words = page_text(response)
    assert "Expected each step_id once" in words
    assert "Why it matters and how to repair it" in words


def test_hashes_that_differ_are_shown_group_by_group(db):
    value = document()
    value["completed_steps"][0]["description"] = "Changed after hashing"
    body = seen_by(judged(orchestrator(), value)).content.decode()
    assert "does not match" in body
    claimed = value["consistency_hash"].removeprefix("sha256:")
    assert f"<mark>{claimed[:8]}</mark>" in body


def test_the_form_carries_what_is_on_the_screen(db):
    handoff = flagged(orchestrator())
    fields = hidden_fields(seen_by(handoff))
    assert fields == {"content_digest": handoff.content_digest, "version": str(handoff.version)}


def test_enter_in_a_field_never_approves(db):
    body = seen_by(flagged(orchestrator())).content.decode()
    form_html = body[body.index('id="decide"') : body.index("</form>", body.index('id="decide"'))]
    first_button = re.search(r"<button[^>]*>", form_html)[0]
    assert "disabled" in first_button
    assert "name=" not in first_button


def test_a_question_of_the_agent_is_answered_in_the_form(db):
    question = {
        "decision_id": "d-1",
        "question": "Pay in full?",
        "options": ["full", "half"],
        "recommendation": "full",
        "blocking": True,
    }
    handoff = judged(orchestrator(), document(pending_decisions=[question], task_status="blocked"))
    body = seen_by(handoff).content.decode()
    assert body.count('name="answer:d-1"') == 3, "two options and another answer"
    assert "checked" not in body, "nothing is chosen beforehand"
    recommendation = body[
        body.index("What the agent recommends") - 300 : body.index("What the agent recommends")
    ]
    assert "<details" in recommendation
    assert " open" not in recommendation[recommendation.index("<details") :]


def test_the_first_of_two_approvals_is_shown_and_its_reason_kept_back(db):
    handoff = high_risk(orchestrator())
    bob = person(name="bob")
    deciding.decide(handoff_id=handoff.pk, reviewer=bob, form=form(handoff, reason="I called the customer"))
    senior = page_text(seen_by(handoff, Role.SENIOR_OPERATOR))
    assert f"Approved {bob.label}" in senior
    assert "1 of 2 approvals" in senior
    assert "I called the customer" not in senior
    assert "The reason is shown after you have decided." in senior
    again = page_text(signed_in(bob).get(detail_url(handoff)))
    assert "You have approved. The second approval must come from another person." in again
    operator = page_text(seen_by(handoff))
    assert "The approval that is missing must come from a senior operator." in operator


def test_an_approved_handoff_is_a_receipt_with_the_way_back(db):
    owner, alice = orchestrator(), person(name="alice")
    handoff = flagged(owner)
    deciding.decide(handoff_id=handoff.pk, reviewer=alice, form=form(handoff))
    handoff = reload(handoff)
    mine = signed_in(alice).get(detail_url(handoff))
    assert handoff.approval_ticket_reference in page_text(mine)
    assert f'action="{detail_url(handoff)}undo/"' in mine.content.decode()
    assert "undo/" not in seen_by(handoff).content.decode(), "only who gave it can take it back"
    dispatched(owner, handoff)
    assert "undo/" not in signed_in(alice).get(detail_url(handoff)).content.decode()


@pytest.mark.parametrize(
    ("role", "reopens"), [(Role.OPERATOR, False), (Role.SENIOR_OPERATOR, True), (Role.MANAGER, False)]
)
def test_only_a_senior_operator_is_offered_to_reopen(db, role, reopens):
    value = document()
    value["completed_steps"][0]["description"] = "Changed after hashing"
    handoff = judged(orchestrator(), value)
    assert ("reopen/" in seen_by(handoff, role).content.decode()) is reopens


def test_a_manager_reads_and_the_trail_says_so(db):
    handoff = flagged(orchestrator())
    mona = person(Role.MANAGER, "mona")
    client = signed_in(mona)
    words = page_text(client.get(detail_url(handoff)))
    assert "Operators decide here; your role reads." in words
    assert 'name="action"' not in client.get(detail_url(handoff)).content.decode()
    readings = AuditEntry.objects.filter(
        subject_id=str(handoff.pk), action="handoff.body_read", actor_id=mona.public_id
    )
    assert readings.count() == 2
    client.get(detail_url(handoff), HTTP_HX_REQUEST="true")
    assert readings.count() == 2, "a poll shows no body"


def test_a_poll_says_who_holds_the_claim_and_leaves_the_form_alone(db):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    first = client.get(detail_url(handoff), HTTP_HX_REQUEST="true")
    assert b'id="live"' in first.content
    assert b"<form method" in first.content, "claiming stays possible"
    assert b'name="reason" rows' not in first.content
    assert (
        client.get(detail_url(handoff), HTTP_HX_REQUEST="true", HTTP_IF_NONE_MATCH=first["ETag"]).status_code
        == 304
    )
    bob = person(name="bob")
    claiming.claim(handoff_id=handoff.pk, reviewer=bob)
    changed = client.get(detail_url(handoff), HTTP_HX_REQUEST="true", HTTP_IF_NONE_MATCH=first["ETag"])
    assert f"{bob.label} is working on this" in page_text(changed)
    assert "Take over" in page_text(changed)


def test_a_deleted_body_leaves_facts_and_no_form_field_from_it(db, servers, worker_number):
    handoff = flagged(orchestrator())
    with psycopg.connect(servers.url("superuser", f"reviewqueue_gw{worker_number}")) as connection:
        connection.execute("ALTER TABLE checkpoint_body DISABLE TRIGGER ALL")
        connection.execute(
            "DELETE FROM checkpoint_body USING checkpoint"
            " WHERE checkpoint_id = checkpoint.id AND handoff_id = %s",
            [handoff.pk],
        )
        connection.execute("ALTER TABLE checkpoint_body ENABLE TRIGGER ALL")
        connection.execute("ALTER TABLE checkpoint_body ENABLE ALWAYS TRIGGER checkpoint_body_written_once")
    words = page_text(seen_by(handoff))
    assert "The body was deleted when its retention period ended." in words
    assert handoff.title in words


def test_an_engine_checkpoint_is_read_by_meaning(db):
    value = {
        "id": "c-1", "sessionId": fresh("session"), "turnId": "t-1", "runId": fresh("run"), "delegationDepth": 0,
        "iteration": 0, "lastSequence": 4, "stablePrefixMessages": 0, "completedModelIterations": 1,
        "reconciliationRequired": True, "finalOutputReady": False, "resumeSameIteration": False,
        "policyAppliedForIteration": False, "activeInvocationId": "i-1",
        "contextState": {"portability": "portable", "delegatedState": []},
        "messages": [{"role": "user", "parts": [{"kind": "text", "value": "Pay the rent"}], "metadata": {}}],
        "completedToolResults": [
            {"requestId": "call-9", "name": "send_money", "outcome": "indeterminate", "errorKind": "timeout"}
        ],
    }  # fmt: skip
    handoff = judged(orchestrator(), json.dumps(value).encode())
    assert handoff.state == "flagged"
    response = seen_by(handoff)
    words = page_text(response)
    assert "send_money" in words
    assert "outcome unknown" in words
    assert "Pay the rent" in words
    assert 'name="reconcile:call-9" value="did_not_happen"' in response.content.decode()


def test_an_item_still_being_checked_offers_no_decision(db):
    handoff = post(orchestrator(), document())
    if handoff.state != "received":
        pytest.fail("the document was judged before it was looked at")
    words = page_text(seen_by(handoff))
    assert "The checks are still running" in words
    assert 'name="action"' not in words


def test_every_attempt_and_its_end_is_listed(db):
    owner = orchestrator()
    handoff = approved(owner)
    answer = dispatched(owner, handoff)
    attempts.fail(
        orchestrator=owner,
        checkpoint_id=handoff.checkpoint_id,
        attempt=answer["attempt"],
        kind="error",
        detail="The mailbox was full",
        actor=caller(owner),
    )
    words = page_text(seen_by(handoff))
    assert "billing did not take it over; the same content can be sent again" in words
    assert "The mailbox was full" in words


def test_what_does_not_exist_is_404_in_words(db):
    client = signed_in(person())
    for address in (
        "/handoffs/01930000-0000-7000-8000-000000000000/",
        "/sessions/none-of-ours/",
        "/tickets/APR-2026-999999/",
    ):
        response = client.get(address)
        assert response.status_code == 404
        assert "There is nothing at this address" in page_text(response)
    assert client.get("/handoffs/not-an-id/").status_code == 404


def test_a_large_document_is_shown_in_parts(db):
    value = document()
    value["context_snapshot"]["key_facts"] = [f"fact {number}" for number in range(3000)]
    handoff = judged(
        orchestrator(),
        {k: v for k, v in value.items() if k not in ("consistency_hash", "context_fingerprint")},
    )
    client = signed_in(person())
    body = client.get(detail_url(handoff)).content.decode()
    assert len(body) < 400_000
    link = re.search(r'href="([^"]+)">2800 more<', body)[1].replace("&amp;", "&")
    part = page_text(client.get(link))
    assert "fact 200" in part
    assert "fact 399" in part
    assert "fact 199" not in part
    assert client.get(f"{detail_url(handoff)}node/?at=/none").status_code == 404
    assert client.get(f"{detail_url(handoff)}node/?from=-1").status_code == 400


def test_pointers_become_ids_that_lead_back():
    value = {"a/b": [{"c~d": 1}], "": {" ": "x"}}
    lines = tree.lines(value, marks={"/a~1b/0/c~0d": [("high", "Wrong")]})
    anchors = [line.anchor for line in lines if line.anchor]
    assert len(anchors) == len(set(anchors))
    assert all(not re.search(r"\s", anchor) for anchor in anchors)
    marked = next(line for line in lines if line.marks)
    assert marked.anchor == tree.anchor("/a~1b/0/c~0d")
    assert tree.at(value, "/a~1b/0/c~0d") == 1
    for wrong in ("/a", "/a~1b/1", "/a~1b/x", "a", "/a~1b/0/c~0d/e"):
        with pytest.raises(LookupError):
            tree.at(value, wrong)


def test_a_marked_place_is_never_left_out_of_a_long_list():
    value = {"items": list(range(5000))}
    lines = tree.lines(value, marks={"/items/4321": [("low", "Odd")]})
    assert any(line.anchor == tree.anchor("/items/4321") for line in lines)
    assert sum(line.count for line in lines if line.kind == "more") == 5000 - tree.CHILDREN_SHOWN - 1


def test_the_hash_card_shows_what_was_hashed_and_which_other_text_would_have_matched(db):
    value = document()
    bare = {
        name: item for name, item in value.items() if name not in ("consistency_hash", "context_fingerprint")
    }
    value["consistency_hash"] = digest(bare)
    body = seen_by(judged(orchestrator(), value)).content.decode()
    assert "The claimed hash matches the whole document instead of the five members" in body
    covered = {name: value[name] for name in COVERED}
    assert html.escape(canonicalize(covered).decode()) in body
    value["consistency_hash"] = "0" * 64
    value["checkpoint_id"] = str(uuid7())
    words = page_text(seen_by(judged(orchestrator(), value)))
    assert "No serialisation of this content that we know gives the claimed hash" in words


def test_ten_times_the_values_make_no_longer_page_and_at_most_ten_times_the_work(db):
    client = signed_in(person())
    owner = orchestrator()

    def opened(count: int) -> tuple[float, int]:
        rows = [[number, "x" * 20, 1] for number in range(count)]
        handoff = judged(owner, document(context_snapshot={"key_facts": ["x"], "rows": rows}))
        costs = []
        for _ in range(3):
            start = time.process_time()
            response = client.get(detail_url(handoff))
            costs.append(time.process_time() - start)
            assert response.status_code == 200
        return min(costs), len(response.content)

    (few, short), (many, long) = opened(2_480), opened(24_800)
    assert long < 1.2 * short
    assert many < 15 * few
