"""`/policy/`: reading it, writing a draft by form and as JSON, trying it out, publishing it (contract §8, §10)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.models import Decision, PolicyVersion
from checkpoints.services import policy
from checkpoints.types import COMMAND_LINE
from reviewqueue.models import PolicyDraft, PolicySimulation, Role, User
from reviewqueue.services import drafting, simulating
from tests.characters import document, flagged, fresh, judged, orchestrator, person
from tests.visiting import page_text, signed_in

pytestmark = pytest.mark.usefixtures("own_database")

DEMO: dict[str, Any] = {
    "roles": {
        "triage": {"capabilities": ["route"], "may_hand_off_to": ["billing"], "fallback_role": "legal"},
        "billing": {},
        "legal": {"may_hand_off_to": []},
    },
    "required_constraints": {"from": {"triage": ["pii_masking"]}},
    "conflicting_constraints": [["refund_limit_500", "no_refund_limit"]],
    "risk": {
        "rules": [{"when": {"target_role": "payments", "tool_name": ["pay", "refund"]}, "level": "high"}]
    },
    "checks": {"HC-18": {"severity": "medium", "disposition": "warn"}},
    "retry_backoff_seconds": [0, 30],
}


@pytest.fixture(autouse=True)
def _defaults_in_force(own_database: str) -> None:
    put_in_force({})


@pytest.fixture
def alice() -> User:
    return person(name="alice")


def put_in_force(document: dict[str, Any]) -> None:
    policy.publish(document=document, actor=COMMAND_LINE)


def draft_of(author: User, document: dict[str, Any] | None = None) -> PolicyDraft:
    return drafting.begin(author=author, document=document)


def address(draft: PolicyDraft, act: str = "") -> str:
    return f"/policy/drafts/{draft.pk}/{act}"


def fields(response: Any) -> dict[str, str]:
    """The draft's edit form as a browser would send it back."""
    body = response.content.decode().split('<main id="main"')[1].split('<form method="post"')[1]
    sent = {}
    for tag in re.findall(r"<input [^>]*>", body):
        name = re.search(r'name="([^"]*)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        if 'type="checkbox"' in tag:
            if " checked" in tag:
                sent[name[1]] = "on"
        elif name and name[1] != "csrfmiddlewaretoken":
            sent[name[1]] = value[1].replace("&quot;", '"') if value else ""
    for name, options in re.findall(r'<select [^>]*name="([^"]*)"[^>]*>(.*?)</select>', body):
        chosen = re.search(r'<option value="([^"]*)" selected', options) or re.search(
            r'value="([^"]*)"', options
        )
        sent[name] = chosen[1]
    return sent


# Reading


def test_a_person_reads_the_policy_in_words(alice):
    put_in_force(DEMO)
    words = page_text(signed_in(alice).get("/policy/"))
    assert "triage route billing legal" in words
    assert "legal — nobody —" in words
    assert "billing — anybody —" in words
    assert "Handoffs from triage must carry pii_masking" in words
    assert "refund_limit_500 and no_refund_limit contradict each other" in words
    assert "High when tool name is pay or refund and target role is payments" in words
    assert "Retries 5, after 0 s, 30 s" in words
    assert "The receiver has to acknowledge within 15 min" in words


def test_every_code_stands_with_its_family_severity_and_what_it_leads_to(alice):
    put_in_force(DEMO)
    words = page_text(signed_in(alice).get("/policy/"))
    assert [code for code in CATALOGUE if f" {code} " not in words] == []
    assert f"HC-18 {CATALOGUE['HC-18'].title} Medium goes on with a warning by this policy" in words
    assert f"HC-19 {CATALOGUE['HC-19'].title} High waits for a person" in words
    assert "Contradictions inside a handoff" in words


def test_each_version_says_what_it_changed(alice):
    put_in_force({"max_retries": 1})
    put_in_force({"max_retries": 4, "reference_schemes": ["s3", "https"]})
    newest = policy.active(fresh=True).version
    client = signed_in(alice)
    words = page_text(client.get(f"/policy/versions/{newest}/"))
    assert "/max_retries 1 4" in words
    assert "removed /reference_schemes/1 gs" in words
    assert "/approvals" not in words.split("What it changed")[1].split("Who has to agree")[0]
    against_defaults = page_text(client.get(f"/policy/versions/{newest}/", {"against": "0"}))
    assert "/max_retries 5 4" in against_defaults
    assert client.get("/policy/versions/9999/").status_code == 404
    assert client.get(f"/policy/versions/{newest}/", {"against": "9999"}).status_code == 404
    assert client.get(f"/policy/versions/{newest}/", {"against": "x"}).status_code == 400


# Writing


def test_a_draft_begins_with_one_click_and_belongs_to_its_author(alice):
    response = signed_in(alice).post("/policy/drafts/")
    assert response.status_code == 303
    draft = PolicyDraft.objects.get(author=alice)
    assert response["Location"] == address(draft)
    words = page_text(signed_in(person(Role.MANAGER)).get(address(draft)))
    assert f"Draft of {alice.label}" in words
    assert "Publish as version" in words
    assert "Edit as JSON" not in words


def test_a_draft_saved_unchanged_says_the_same(alice):
    draft, client = draft_of(alice, DEMO), signed_in(alice)
    response = client.post(address(draft, "edit/"), fields(client.get(address(draft, "edit/"))))
    assert response.status_code == 303
    draft.refresh_from_db()
    assert draft.document == DEMO
    assert draft.version == 1


def test_the_form_changes_the_usual_things(alice):
    draft, client = draft_of(alice, DEMO), signed_in(alice)
    sent = fields(client.get(address(draft, "edit/")))
    sent |= {
        "note": "Payments need two",
        "role.2.may_hand_off_to": "billing, legal",
        "role.0.name": "",
        "role.3.name": "payments",
        "role.3.capabilities": "pay",
        "required.1.side": "to",
        "required.1.role": "payments",
        "required.1.constraints": "fraud_check, limit_500",
        "conflict.0.first": "",
        "conflict.0.second": "",
        "rule.1.level": "low",
        "rule.1.task_id": "T-1",
        "check.0.severity": "",
        "check.1.code": "HC-58",
        "check.1.disposition": "review",
        "/approvals/medium": "2",
        "/max_retries": "3",
        "/retry_backoff_seconds": "0, 10, 60",
        "/strict_non_empty": "on",
        "/ticket/pattern": "^CHG-[0-9]+$",
        "/ticket/required_for/high": "on",
        "/task_id_pattern": "^T-",
    }
    assert client.post(address(draft, "edit/"), sent).status_code == 303
    draft.refresh_from_db()
    assert draft.note == "Payments need two"
    assert draft.document == {
        "roles": {
            "triage": {
                "capabilities": ["route"],
                "may_hand_off_to": ["billing", "legal"],
                "fallback_role": "legal",
            },
            "legal": {"may_hand_off_to": []},
            "payments": {"capabilities": ["pay"]},
        },
        "required_constraints": {
            "from": {"triage": ["pii_masking"]},
            "to": {"payments": ["fraud_check", "limit_500"]},
        },
        "conflicting_constraints": [],
        "risk": {
            "rules": [
                {"when": {"target_role": "payments", "tool_name": ["pay", "refund"]}, "level": "high"},
                {"when": {"task_id": "T-1"}, "level": "low"},
            ]
        },
        "checks": {"HC-18": {"disposition": "warn"}, "HC-58": {"disposition": "review"}},
        "retry_backoff_seconds": [0, 10, 60],
        "approvals": {"medium": 2},
        "max_retries": 3,
        "strict_non_empty": True,
        "ticket": {"pattern": "^CHG-[0-9]+$", "required_for": ["high"]},
        "task_id_pattern": "^T-",
    }


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"/max_retries": "many"}, "/max_retries", "/max_retries"),
        ({"/approvals/high": "0"}, "/approvals/high", "/approvals/high"),
        ({"check.1.code": "HC-999", "check.1.severity": "low"}, "check.1.code", "HC-999 is no code"),
        ({"role.4.name": "triage"}, "role.4.name", "triage has a row already"),
        ({"role.4.capabilities": "x"}, "role.4.name", "This row has no name"),
        ({"/task_id_pattern": "("}, "/task_id_pattern", "cannot be used as a pattern"),
        ({"rule.1.format": "handoff/9"}, "rule.1.format", "handoff/9 is no known format"),
        ({"/reference_schemes": "s3, S 3"}, "/reference_schemes", "S 3"),
    ],
)
def test_a_mistake_in_the_form_is_said_at_its_field_and_nothing_typed_is_lost(alice, changes, field, words):
    draft, client = draft_of(alice, DEMO), signed_in(alice)
    sent = {**fields(client.get(address(draft, "edit/"))), **changes, "note": "What I typed"}
    response = client.post(address(draft, "edit/"), sent)
    assert response.status_code == 422
    assert words in page_text(response)
    body = response.content.decode()
    assert re.search(rf'name="{re.escape(field)}"[^>]*aria-invalid="true"', body)
    assert f'id="e:{field}"' in body
    assert "What I typed" in body
    draft.refresh_from_db()
    assert (draft.document, draft.note) == (DEMO, "")


def test_json_with_mistakes_names_each_with_its_pointer(alice):
    draft, client = draft_of(alice), signed_in(alice)
    text = json.dumps({"max_retries": -1, "risk": {"rules": [{"when": {}, "level": "huge"}]}, "extra": True})
    response = client.post(address(draft, "document/"), {"document": text, "note": "", "version": 1})
    words = page_text(response)
    assert response.status_code == 422
    for pointer in ("/max_retries", "/risk/rules/0/when", "/risk/rules/0/level", "/extra"):
        assert pointer in words
    assert "&quot;huge&quot;" in response.content.decode()
    draft.refresh_from_db()
    assert draft.version == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "JSON"),
        ('{"max_retries": 1, "max_retries": 2}', "max_retries"),
        ("[]", "object"),
        ('{"max_retries": 1e400}', "number"),
    ],
)
def test_text_that_is_no_policy_is_refused_with_what_is_wrong(alice, text, words):
    draft = draft_of(alice)
    response = signed_in(alice).post(
        address(draft, "document/"), {"document": text, "note": "", "version": 1}
    )
    assert response.status_code == 422
    assert words in page_text(response)


def test_json_is_saved_and_shown(alice):
    draft, client = draft_of(alice), signed_in(alice)
    response = client.post(
        address(draft, "document/"), {"document": json.dumps(DEMO), "note": "All of it", "version": 1}
    )
    assert response.status_code == 303
    words = page_text(client.get(address(draft)))
    assert "added /roles/triage" in words
    assert "All of it" in words


def test_a_document_that_the_form_cannot_say_is_edited_as_json(alice):
    draft, client = (
        draft_of(alice, {"roles": {"triage": {"capabilities": ["read, write"]}}}),
        signed_in(alice),
    )
    assert "The form cannot say all of this document" in page_text(client.get(address(draft)))
    assert "would be lost" in page_text(client.get(address(draft, "edit/")))
    assert "read, write" in client.get(address(draft, "document/")).content.decode()


def test_a_draft_saved_meanwhile_in_another_window_is_not_overwritten(alice):
    draft, client = draft_of(alice), signed_in(alice)
    old = fields(client.get(address(draft, "edit/")))
    client.post(address(draft, "document/"), {"document": '{"max_retries": 1}', "note": "", "version": 1})
    response = client.post(address(draft, "edit/"), {**old, "/max_retries": "9"})
    assert response.status_code == 409
    assert "saved again after you opened this page" in page_text(response)
    assert re.search(r'name="/max_retries" value="9"', response.content.decode())
    draft.refresh_from_db()
    assert draft.document == {"max_retries": 1}


def test_nobody_edits_another_s_draft(alice):
    draft, bob = draft_of(alice), signed_in(person(name="bob"))
    for act in ("edit/", "document/"):
        assert bob.get(address(draft, act)).status_code == 403
    response = bob.post(address(draft, "document/"), {"document": "{}", "note": "", "version": 1})
    assert response.status_code == 403
    assert bob.post(address(draft, "discard/"), {"version": 1}).status_code == 403
    draft.refresh_from_db()
    assert (draft.version, draft.closed_at) == (1, None)


@pytest.mark.parametrize("sent", [{}, {"version": "x"}, {"version": "1", "extra": "1"}])
def test_a_form_without_what_was_on_the_screen_does_nothing(alice, sent):
    draft = draft_of(alice)
    mona = signed_in(person(Role.MANAGER))
    assert mona.post(address(draft, "publish/"), sent).status_code == 422
    draft.refresh_from_db()
    assert draft.closed_at is None


# Publishing


def test_a_manager_publishes_and_everybody_sees_it(alice):
    draft = draft_of(alice, {"max_retries": 7})
    mona = person(Role.MANAGER)
    response = signed_in(mona).post(address(draft, "publish/"), {"version": 1}, follow=True)
    words = page_text(response)
    newest = PolicyVersion.objects.order_by("-version").first()
    assert (newest.authored_by, newest.published_by) == (alice.public_id, mona.public_id)
    assert f"Version {newest.version} is in force from the next check on" in words
    assert "Retries 7," in words
    assert "published as version" in page_text(signed_in(alice).get(address(draft)))


@pytest.mark.parametrize(("role", "status"), [(Role.OPERATOR, 403), (Role.ADMIN, 403)])
def test_who_may_not_publish_is_told_who_may(alice, role, status):
    draft, before = draft_of(alice), policy.active(fresh=True).version
    response = signed_in(person(role)).post(address(draft, "publish/"), {"version": 1})
    assert response.status_code == status
    assert "takes the role manager" in page_text(response)
    assert policy.active(fresh=True).version == before


def test_the_author_cannot_publish_and_is_told_who_can():
    mona = person(Role.MANAGER)
    draft, before = draft_of(mona), policy.active(fresh=True).version
    response = signed_in(mona).post(address(draft, "publish/"), {"version": 1})
    assert response.status_code == 403
    assert "Another manager has to publish it" in page_text(response)
    assert policy.active(fresh=True).version == before


def test_a_policy_that_changed_meanwhile_stops_the_draft_until_its_author_looked(alice):
    draft = draft_of(alice, {"max_retries": 7})
    put_in_force({"max_retries": 2, "clock_skew_seconds": 9})
    mona, client = signed_in(person(Role.MANAGER)), signed_in(alice)
    response = mona.post(address(draft, "publish/"), {"version": 1})
    assert response.status_code == 409
    words = page_text(client.get(address(draft)))
    assert "came into force since" in words
    assert "/clock_skew_seconds" in words
    assert client.post(address(draft, "catch-up/"), {"version": 1}).status_code == 303
    assert mona.post(address(draft, "publish/"), {"version": 2}).status_code == 303
    assert policy.active(fresh=True).document == {"max_retries": 7}


def test_a_draft_from_an_earlier_version_brings_it_back(alice):
    put_in_force({"max_retries": 6})
    number = policy.active(fresh=True).version
    put_in_force({"max_retries": 2})
    client = signed_in(alice)
    assert client.post("/policy/drafts/", {"from_version": number}).status_code == 303
    assert PolicyDraft.objects.get(author=alice).document == {"max_retries": 6}
    assert client.post("/policy/drafts/", {"from_version": "9999"}).status_code == 404


# Trying out


def finish() -> None:
    while simulating.work():
        pass


def test_a_draft_is_tried_out_in_the_background_and_the_page_follows(alice):
    owner = orchestrator()
    stopped = judged(owner, document(session_id=fresh("session"), task_status="completed"))
    put_in_force({})
    draft = draft_of(alice, {"checks": {"HC-18": {"disposition": "warn"}}})
    client = signed_in(alice)
    assert client.post(address(draft, "simulate/"), {"days": "7"}).status_code == 303
    waiting = client.get(address(draft))
    assert "<progress" in waiting.content.decode()
    assert 'hx-trigger="every 2s"' in waiting.content.decode()
    poll = client.get(address(draft), headers={"HX-Request": "true"})
    again = client.get(address(draft), headers={"HX-Request": "true", "If-None-Match": poll["ETag"]})
    assert (poll.status_code, again.status_code) == (200, 304)
    assert client.get(address(draft, "simulation/")).status_code == 404
    finish()
    after = client.get(address(draft), headers={"HX-Request": "true", "If-None-Match": poll["ETag"]})
    assert after.status_code == 200
    assert "every 2s" not in after.content.decode()
    assert "handoffs would have come out otherwise" in page_text(after)
    words = page_text(client.get(address(draft, "simulation/")))
    assert "Flagged findings" in words
    assert "triage hands to billing" in words
    listed = client.get(address(draft, "simulation/")).content.decode()
    assert f'href="/handoffs/{stopped.pk}/"' in listed
    admin = page_text(signed_in(person(Role.ADMIN)).get(address(draft, "simulation/")))
    assert "Handoffs are shown to people who work on them" in admin
    assert stopped.session.session_id not in admin


def test_a_result_says_when_the_draft_was_saved_since(alice):
    judged(orchestrator(), document())
    draft, client = draft_of(alice), signed_in(alice)
    client.post(address(draft, "simulate/"), {"days": "1"})
    finish()
    client.post(address(draft, "document/"), {"document": '{"max_retries": 1}', "note": "", "version": 1})
    assert "The draft was saved since" in page_text(client.get(address(draft)))


@pytest.mark.parametrize("days", ["0", "", "x", "99999", "-1"])
def test_days_that_are_no_number_of_days_are_refused(alice, days):
    draft = draft_of(alice)
    assert signed_in(alice).post(address(draft, "simulate/"), {"days": days}).status_code == 422
    assert not PolicySimulation.objects.filter(draft=draft).exists()


# Rules that decisions propose


def decided(action: str, number: int, **changes: Any) -> None:
    """`number` handoffs of one finding, each decided by a person. Rows, not clicks: fifty clicks take minutes."""
    owner, alice = orchestrator(), person()
    handoff = flagged(owner, **changes)
    Decision.objects.bulk_create(
        Decision(
            handoff=handoff, round=place + 100, revision=1, content_digest=handoff.content_digest, action=action,
            actor_id=alice.public_id, actor_label=alice.label, role=alice.role, at=handoff.received_at,
        )
        for place in range(number)
    )  # fmt: skip


def test_fifty_decisions_of_one_kind_propose_a_rule(alice):
    put_in_force({"checks": {"HC-06": {"disposition": "review"}, "HC-30": {"disposition": "review"}}})
    decided("approve", 50, surprise=1)
    decided("abort", 49, pending_decisions=[], task_status="blocked")
    client = signed_in(alice)
    words = page_text(client.get("/policy/"))
    assert f"HC-06 {CATALOGUE['HC-06'].title} approve 50 Warn in a draft" in words
    assert "HC-30" not in words.split("Could be a rule")[1].split("Times and limits")[0]
    client.post("/policy/drafts/", {"code": "HC-06", "disposition": "warn"})
    draft = PolicyDraft.objects.get(author=alice)
    assert draft.document["checks"] == {"HC-06": {"disposition": "warn"}, "HC-30": {"disposition": "review"}}


def test_one_other_decision_proposes_nothing(alice):
    put_in_force({"checks": {"HC-08": {"disposition": "review"}}})
    decided("approve", 60, checkpoint_id=fresh("no-uuid"))
    decided("abort", 1, checkpoint_id=fresh("no-uuid"))
    words = page_text(signed_in(alice).get("/policy/"))
    assert "HC-08" not in words.split("Could be a rule")[1].split("Times and limits")[0]


@pytest.mark.parametrize(
    "sent", [{"code": "HC-999", "disposition": "warn"}, {"code": "HC-06", "disposition": "x"}]
)
def test_a_proposal_that_is_none_begins_no_draft(alice, sent):
    assert signed_in(alice).post("/policy/drafts/", sent).status_code == 422
    assert not PolicyDraft.objects.filter(author=alice).exists()


def test_a_draft_address_that_leads_nowhere_is_said_plainly(alice):
    client: Client = signed_in(alice)
    assert client.get("/policy/drafts/01a22f27-7fc7-7617-a8c9-970064d488f0/").status_code == 404
    assert client.get("/policy/", {"user": "x"}).status_code == 400


def test_a_draft_tells_names_that_nothing_knows(alice):
    draft = draft_of(alice, {"roles": {"triage": {"fallback_role": "<b>biling</b>"}}})
    client = signed_in(alice)
    found = client.get(address(draft)).content.decode()
    assert "1 name to look at" in found
    assert "/roles/triage/fallback_role" in found
    assert "<b>biling" not in found
    assert (
        "to look at"
        not in client.get(address(draft_of(person(), {"roles": {"triage": {}}}))).content.decode()
    )
