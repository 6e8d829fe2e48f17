"""The policy's pages in a real browser: without script, live progress, both themes, small screens, axe."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from checkpoints.models import Decision
from checkpoints.services import policy
from checkpoints.types import COMMAND_LINE
from reviewqueue.models import Role
from reviewqueue.services import drafting, simulating
from tests.browser import Visitor
from tests.characters import document, flagged, fresh, judged, orchestrator, person
from tests.test_browser import Survey, surveyed
from tests.test_pages_policy import DEMO

pytestmark = [pytest.mark.usefixtures("own_database"), pytest.mark.browser, pytest.mark.full]


def finish() -> None:
    while simulating.work():
        pass


def test_a_policy_is_drafted_tried_out_and_published_without_script(visit):
    policy.publish(document=DEMO, actor=COMMAND_LINE)
    judged(orchestrator(), document(session_id=fresh("session"), task_status="completed"))
    alice = visit(person(name="alice"), java_script_enabled=False)
    page = alice.page
    alice.open("/policy/")
    page.click("button:has-text('Begin a draft')")
    page.click("a:text-is('Edit')")
    page.fill("[name='/max_retries']", "-4")
    page.click("button:has-text('Save the draft')")
    expect(page.locator("#problem")).to_contain_text("/max_retries")
    page.fill("[name='/max_retries']", "2")
    page.fill("[name='role.3.name']", "payments")
    page.fill("#note", "Payments take over")
    page.click("button:has-text('Save the draft')")
    expect(page.locator(".changes")).to_contain_text("/roles/payments")
    page.fill("#days", "1")
    page.click("button:text-is('Try')")
    expect(page.locator("progress")).to_be_visible()
    finish()
    page.click("a:has-text('look again')")
    page.reload()
    expect(page.locator("#simulation")).to_contain_text("handoffs would have come out")
    address = page.url
    mona = visit(person(Role.MANAGER, name="mona"), java_script_enabled=False)
    mona.page.goto(address)
    mona.page.click("button:has-text('Publish as version')")
    expect(mona.page.locator("[role=status]")).to_contain_text("is in force from the next check on")
    assert policy.active(fresh=True).compiled.max_retries == 2


def test_the_progress_of_a_simulation_moves_by_itself(visit):
    judged(orchestrator(), document(session_id=fresh("session")))
    alice = person(name="alice")
    draft = drafting.begin(author=alice, document={"checks": {"HC-18": {"disposition": "warn"}}})
    simulating.start(draft_id=draft.pk, person=alice, days=1)
    visitor = visit(alice)
    visitor.open(f"/policy/drafts/{draft.pk}/")
    page = visitor.page
    expect(page.locator("progress")).to_be_visible()
    finish()
    expect(page.locator("#simulation table")).to_be_visible(timeout=8000)
    expect(page.locator("progress")).to_have_count(0)


def addresses() -> list[tuple[Role, str]]:
    """One address of each kind of page, with something on it."""
    policy.publish(document={"max_retries": 1}, actor=COMMAND_LINE, note="A first one")
    checks = {"HC-06": {"disposition": "review"}, "HC-18": {"severity": "medium"}}
    version = policy.publish(document={**DEMO, "checks": checks}, actor=COMMAND_LINE, note="The demo").version
    owner = orchestrator()
    for number in range(3):
        judged(owner, document(session_id=fresh("session"), task_status="completed", task_id=f"T-{number}"))
    handoff = flagged(owner, surprise=1)
    people = [person() for _ in range(60)]
    Decision.objects.bulk_create(
        Decision(
            handoff=handoff, round=9, revision=1, content_digest=handoff.content_digest, action="approve",
            actor_id=alice.public_id, actor_label=alice.label, role=alice.role, at=handoff.received_at,
        )
        for alice in people
    )  # fmt: skip
    mona = person(Role.MANAGER)
    draft = drafting.begin(author=mona, document={**DEMO, "max_retries": 3, "strict_non_empty": True})
    simulating.start(draft_id=draft.pk, person=mona, days=1)
    waiting = drafting.begin(
        author=mona, document={"roles": {"a": {"capabilities": ["read, write"]}}}, note="No"
    )
    finish()
    running = drafting.begin(author=mona, document={})
    simulating.start(draft_id=running.pk, person=mona, days=1)
    policy.publish(document={**DEMO, "clock_skew_seconds": 60, "checks": checks}, actor=COMMAND_LINE)
    admin = Role.ADMIN
    return [
        (admin, "/policy/"),
        (admin, f"/policy/versions/{version}/"),
        *((admin, f"/policy/drafts/{item.pk}/") for item in (draft, waiting, running)),
        (admin, f"/policy/drafts/{draft.pk}/simulation/"),
        (Role.MANAGER, f"/policy/drafts/{draft.pk}/"),
        (Role.SENIOR_OPERATOR, f"/policy/drafts/{draft.pk}/simulation/"),
    ]


@pytest.fixture(scope="module")
def survey(browser: Browser, live_server: Any, own_database: str, django_db_blocker: Any) -> Survey:
    with django_db_blocker.unblock():
        found = Survey()
        still = {"reduced_motion": "reduce"}
        visitors = {role: Visitor(browser, live_server.url, **still).sign_in(person(role)) for role in Role}
        for role, path in addresses():
            found.measure(visitors[role], path)
        author = person(name="author")
        own = drafting.begin(author=author, document=DEMO)
        writer = Visitor(browser, live_server.url, **still).sign_in(author)
        for act in ("", "edit/", "document/"):
            found.measure(writer, f"/policy/drafts/{own.pk}/{act}")
        for visitor in (writer, *visitors.values()):
            found.trouble += visitor.trouble
            visitor.close()
    return found


@surveyed
def test_every_page_passes_axe_in_both_themes(survey):
    assert survey.rules_passed > 15 * survey.pages
    assert survey.violations == []


@surveyed
def test_every_text_stands_out_from_its_ground_in_both_themes(survey):
    assert survey.faint == []


@surveyed
def test_no_page_scrolls_sideways_from_390_to_2560_pixels(survey):
    assert survey.too_wide == []


@surveyed
def test_everything_to_press_is_at_least_24_pixels_high(survey):
    assert survey.small == []


@surveyed
def test_every_page_obeys_the_content_security_policy(survey):
    assert survey.trouble == []
