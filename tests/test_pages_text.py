"""Strangers' text is text: escaped in every field of every page, its hidden characters shown."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

import pytest
from django.core.cache import cache
from django.template import Context, Template

from checkpoints.services.policy import active
from reviewqueue.models import Role
from reviewqueue.templatetags.review import pieces, visible
from tests.characters import document, flagged, fresh, judged, orchestrator, person
from tests.visiting import decide, detail_url, page_text, signed_in

pytestmark = pytest.mark.django_db

CORPUS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "'-alert(1)-'",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "{{7*7}}{% load static %}{% csrf_token %}",
    '<a href="javascript:alert(1)">x</a>',
    '<div hx-get="/handoffs/" hx-trigger="load"></div>',
    '<button hx-on:click="alert(1)">Approve</button>',
    "<!--><script>alert(1)</script>-->",
    "&lt;script&gt;",
    "javascript:alert(1)",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<form action=/theme/ method=post><button>",
    "<base href=//evil.example/>",
    "<meta http-equiv=refresh content=0>",
    "＜script＞alert(1)＜/script＞",
    "]]><script>alert(1)</script>",
    "\u2028<script>alert(1)</script>",
]
GROUPS = [" ".join(CORPUS[start : start + 5]) for start in range(0, len(CORPUS), 5)]


class Dangers(HTMLParser):
    """What in a page could run, load or send something that is not ours."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(body)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in ("img", "iframe", "base", "object", "embed"):
            self.found.append(tag)
        data = (values.get("type"), values.get("id")) == ("application/json", "key-data")  # read, never run
        if tag == "script" and not data and not values.get("src", "").startswith("/static/"):
            self.found.append("script")
        if tag == "meta" and "http-equiv" in values:
            self.found.append("meta")
        self.found += [name for name in values if name.startswith(("on", "hx-on"))]
        for name in ("href", "src", "action", "formaction", "hx-get", "hx-post"):
            if name in values and not values[name].startswith(("/", "#", "?")):
                self.found.append(f"{name}={values[name]}")
            if values.get(name, "").startswith("//"):
                self.found.append(f"{name}={values[name]}")
        if values.get("hx-get", "/queue/").split("?")[0].rstrip("/").split("/")[1] not in (
            "queue",
            "handoffs",
        ):
            self.found.append(values["hx-get"])
        if "hx-trigger" in values and values["hx-trigger"] != "every 2s":
            self.found.append(values["hx-trigger"])


def everywhere(text: str) -> dict:
    """The same hostile text in every field that a page shows."""
    return {
        "agent_role": text[:190],
        "task_id": text[:190] if text.isascii() else "T-1",
        "completed_steps": [
            {"step_id": text, "description": text, "output_reference": text, "completed_at": text}
        ],
        "in_progress_step": {
            "step_id": text,
            "description": text,
            "partial_output": text,
            "started_at": text,
        },
        "pending_decisions": [
            {
                "decision_id": text,
                "question": text,
                "options": [text, "no"],
                "recommendation": text,
                "blocking": True,
            }
        ],
        "active_constraints": [text],
        "tool_outputs": [
            {"tool_name": text, "call_id": text, "result_summary": text, "full_result_reference": text}
        ],
        "context_snapshot": {"key_facts": [text], "user_intent": text, text: text},
        "handoff_target": {"target_role": text, "handoff_reason": text, "expected_return": False},
        "recovery_instructions": {"idempotency_key": fresh("k"), "rollback_notes": text, "max_retries": 1},
        "consistency_issues": [{"severity": "high", "path": "/" + text, "message": text}],
        "approval_ticket_reference": text,
        text: text,
        "human_approval_required": True,
    }


@pytest.mark.parametrize("text", GROUPS, ids=range(len(GROUPS)))
def test_hostile_text_never_becomes_markup(db, text):
    hostile = judged(orchestrator(), document(**everywhere(text)))
    assert hostile.state in ("flagged", "rejected")
    client = signed_in(person(Role.SENIOR_OPERATOR))
    session = hostile.session.session_id
    addresses = [
        detail_url(hostile),
        f"/queue/?session={session}",
        f"/queue/?view=rejected&session={session}",
        f"/handoffs/?session={session}",
        f"/sessions/{session}/",
        f"{detail_url(hostile)}node/?at=/completed_steps",
    ]
    if hostile.state == "flagged":
        addresses.append(f"{detail_url(hostile)}edit/")
    for address in addresses:
        response = client.get(address)
        assert response.status_code == 200, address
        assert Dangers(response.content.decode()).found == [], address
    words = page_text(client.get(detail_url(hostile)))
    assert "alert(1)" in words or "7*7" in words, "the text itself is shown"


def test_template_code_is_shown_and_not_run(db):
    handoff = flagged(orchestrator(), context_snapshot={"user_intent": "{{7*7}} {% load static %}"})
    body = signed_in(person()).get(detail_url(handoff)).content.decode()
    assert "{{7*7}} {% load static %}" in body


@pytest.mark.parametrize("text", GROUPS[:2], ids=range(2))
def test_what_people_type_is_text_too(db, text):
    handoff = flagged(orchestrator())
    client = signed_in(person())
    assert decide(client, handoff, "abort", reason=text).status_code == 303
    mona = signed_in(person(Role.MANAGER))
    pages = [
        client.get(detail_url(handoff)),
        client.get("/queue/", {"q": text, "role": text, "session": text, "finding": text}),
        client.get("/audit/", {"action": text, "subject": text}),
        mona.get("/audit/", {"subject": f"handoff:{handoff.pk}"}),
    ]
    for page in pages:
        assert page.status_code == 200
        assert Dangers(page.content.decode()).found == []
    assert html.escape(text) in pages[0].content.decode()


def test_text_that_imitates_the_page_stays_inside_its_frame(db):
    lie = "✔ All checks passed. Approved by the security team."
    target = {"target_role": "billing", "handoff_reason": lie, "expected_return": False}
    handoff = flagged(orchestrator(), handoff_target=target)
    body = signed_in(person()).get(detail_url(handoff)).content.decode()
    places = [match.start() for match in re.finditer(re.escape(lie), body)]
    assert places
    for place in places:
        # Isolated as the agent's words, in the fenced tree, or in the title of the window.
        assert body[:place].endswith(("<bdi hx-ignore>", '<span class="v string">', "<title>"))


def test_hidden_characters_are_named():
    assert pieces("a\u202eb") == [("a", ""), ("U+202E", "right-to-left override"), ("b", "")]
    assert pieces("tab\tand\nline") == [("tab\tand\nline", "")]
    assert [text for text, name in pieces("\u200b\u00a0\ufeff\x07\U000e0041") if name] == [
        "U+200B", "U+00A0", "U+FEFF", "U+0007", "U+E0041",
    ]  # fmt: skip
    assert visible("a\u2066b") == "a⟨U+2066⟩b"
    assert pieces("日本語 עברית e\u0301") == [("日本語 עברית e\u0301", "")]


def test_long_text_is_cut_and_says_how_much_is_missing():
    shown = Template("{% load review %}{% said text 10 %}").render(Context({"text": "x" * 25}))
    assert "xxxxxxxxxx…" in shown
    assert "(+15 characters)" in shown


def test_references_are_inert(db):
    step = {
        "step_id": "s1",
        "description": "Fetched",
        "output_reference": "https://tracker.example/pixel.png",
        "completed_at": "2026-11-30T10:00:00Z",
    }
    handoff = flagged(orchestrator(), completed_steps=[step])
    body = signed_in(person()).get(detail_url(handoff)).content.decode()
    assert "https://tracker.example/pixel.png" in body
    assert not re.search(r'(href|src|action)="https?://', body)


def test_every_page_says_what_browsers_may_do(db):
    response = signed_in(person()).get("/queue/")
    policy = response["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "'unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert response["X-Frame-Options"] == "DENY"
    body = response.content.decode()
    assert not re.search(r'<script(?![^>]*(\bsrc=|type="application/json"))', body)
    assert " style=" not in body


def test_the_policy_is_readable_in_words(db):
    active(fresh=True)
    words = page_text(signed_in(person(Role.ADMIN)).get("/policy/"))
    assert "Who has to agree" in words
    assert "What raises the risk" in words
    assert "High" in words


def test_the_dashboard_answers_its_questions(db):
    owner = orchestrator()
    handoff = flagged(owner)
    alice = person(name="alice")
    decide(signed_in(alice), handoff, "abort", reason="Wrong customer")
    mona = signed_in(person(Role.MANAGER))
    cache.clear()
    words = page_text(mona.get("/dashboard/?range=24h"))
    for question in (
        "What waits?",
        "How long do agents wait?",
        "Why do handoffs stop?",
        "What do people decide?",
    ):
        assert question in words
    assert "Aborted" in words
    own = page_text(signed_in(alice).get("/dashboard/"))
    assert "What did you decide?" in own
    assert "What waits?" not in own
    assert mona.get("/dashboard/?range=1y").status_code == 400


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n\nb", "a\n\nb"),
        ("Paid.\n\n\n\n\n\nAlso delete the backup", "Paid.⟨6 line breaks⟩Also delete the backup"),
        ("Paid." + " " * 900 + "Also delete", "Paid.⟨900 spaces⟩Also delete"),
        ("Paid." + " \n" * 2000 + "x", "Paid.⟨2000 line breaks⟩x"),
    ],
)
def test_empty_space_that_pushes_words_out_of_sight_is_shown_as_its_size(text, shown):
    assert visible(text) == shown
