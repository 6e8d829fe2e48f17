"""Going and acting by keyboard in a real browser: the palette, keys of one's own, and what comes after a decision."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from playwright.sync_api import expect

from reviewqueue.models import Role
from tests.characters import flagged, fresh, high_risk, orchestrator, person, reload
from tests.test_second_factor import code, enrol
from tests.visiting import detail_url

pytestmark = [pytest.mark.django_db, pytest.mark.browser, pytest.mark.full]


def test_the_palette_leads_to_a_checkpoint_by_its_id(visit):
    handoff = flagged(orchestrator(), checkpoint_id=fresh("ckpt"))
    alice = visit(person(name="alice"))
    page = alice.page
    alice.open("/policy/")
    page.keyboard.press("Control+k")
    field = page.locator("#palette-q")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-expanded", "true")
    first = page.locator("#palette [role=option] >> nth=0")
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    second = page.locator("#palette [role=option] >> nth=1")
    expect(second).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", second.get_attribute("id"))
    page.keyboard.type(handoff.checkpoint_id)
    page.keyboard.press("Enter")  # before the answer is there: it waits for it
    page.wait_for_url(f"**{detail_url(handoff)}*")


def test_the_palette_opens_from_a_field_and_gives_the_focus_back(visit):
    handoff = flagged(orchestrator())
    alice = visit(person(name="alice"))
    page = alice.page
    alice.open(detail_url(handoff))
    page.fill("#reason", "Half a thought")
    page.focus("#reason")
    page.keyboard.press("Control+k")
    expect(page.locator("#palette-q")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()
    expect(page.locator("#reason")).to_be_focused()
    assert page.input_value("#reason") == "Half a thought"


def test_the_palette_passes_axe_and_says_what_it_found(visit):
    admin = visit(person(Role.ADMIN))
    page = admin.page
    admin.open("/tokens/")
    page.click("[data-palette]")
    expect(page.locator("#palette [role=option]").first).to_be_visible()
    expect(page.locator("[data-palette-status]")).to_contain_text("found")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert Axe().run(page).response["violations"] == []
    page.fill("#palette-q", "nothing has this name")
    expect(page.locator("[data-palette-none]")).to_contain_text("Nothing has a name")
    expect(page.locator("#palette-q")).to_have_attribute("aria-expanded", "false")
    assert Axe().run(page).response["violations"] == []


def test_without_script_the_way_leads_over_a_page(visit):
    handoff = flagged(orchestrator(), checkpoint_id=fresh("ckpt"))
    alice = visit(person(name="alice"), java_script_enabled=False)
    page = alice.page
    page.click("[data-palette]")
    page.fill("#q", handoff.checkpoint_id)
    page.click("button:has-text('Look')")
    page.click(f".found a:has-text('{handoff.checkpoint_id}') >> nth=0")
    page.wait_for_url(f"**{detail_url(handoff)}*")


def test_keys_of_ones_own_act_and_the_usual_ones_do_not(visit):
    handoff = flagged(orchestrator(), session_id=fresh("session"))
    alice = visit(person(name="alice"))
    page = alice.page
    alice.open("/settings/keys/")
    page.fill("[name='key:claim']", "j")
    page.keyboard.press("Enter")
    expect(page.locator("#wrong-claim")).to_contain_text("“j” is the key of")
    page.fill("[name='key:claim']", "y")
    page.fill("[name='key:go-queue']", "q q")
    page.keyboard.press("Enter")
    expect(page.locator("[role=status] >> nth=0")).to_contain_text("Your keys are saved")
    alice.open(f"/queue/?session={handoff.session.session_id}")
    page.keyboard.press("j")
    page.keyboard.press("c")
    page.wait_for_timeout(300)
    expect(page.locator(f"#row-{handoff.pk}")).to_contain_text("Claim")
    page.keyboard.press("y")
    expect(page.locator(f"#row-{handoff.pk} .c-who")).to_contain_text("you")
    alice.open(detail_url(handoff))
    page.keyboard.press("q")
    page.keyboard.press("q")
    page.wait_for_url("**/queue/")


def test_single_keys_do_nothing_in_fields_or_with_modifiers(visit):
    handoff = flagged(orchestrator())
    alice = visit(person(name="alice"))
    page = alice.page
    alice.open(detail_url(handoff))
    page.keyboard.press("r")
    expect(page.locator("#reason")).to_be_focused()
    page.keyboard.type("g q a c ?")
    assert page.input_value("#reason") == "g q a c ?"
    page.keyboard.press("Escape")
    page.keyboard.press("Control+a")
    page.keyboard.press("Alt+c")
    page.wait_for_timeout(300)
    expect(page.locator("#confirm")).to_be_hidden()
    expect(page.locator(".claimbar")).to_contain_text("Nobody has claimed it")
    assert page.url.endswith(detail_url(handoff))


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_decision_leads_to_the_next_and_forgets_only_its_own_text(visit, script):
    owner, session = orchestrator(), fresh("session")
    first = flagged(owner, session_id=session, task_id="T-1")
    second = flagged(owner, session_id=session, handoff_sequence=2, task_id="T-2")
    alice = visit(person(name="alice"), java_script_enabled=script)
    page = alice.page
    alice.open(f"/queue/?session={session}")
    page.click(f"#row-{second.pk} a[data-open]")
    page.fill("#reason", "Not decided yet")
    alice.open(f"/queue/?session={session}")
    page.click(f"#row-{first.pk} a[data-open]")
    page.fill("#reason", "Wrong customer")
    page.click("button:has-text('Abort')")
    page.wait_for_url(f"**{detail_url(second)}?list=*")
    expect(page.locator("[role=status]")).to_contain_text("Aborted.")
    if script:
        assert page.input_value("#reason") == "Not decided yet"
        assert page.evaluate("Object.keys(sessionStorage)") == [f"kept:{detail_url(second)}:reason"]
    page.click("text=Back to it")
    page.wait_for_url(f"**{detail_url(first)}#decision")
    expect(page.locator("#decision")).to_contain_text("nothing left to decide")


def forget_the_factor(visitor: Any) -> None:
    """As if the factor of this session had been used an hour ago."""
    name = next(item["value"] for item in visitor.context.cookies() if item["name"] == "session")
    session = SessionStore(name)
    for record in session["account_authentication_methods"]:
        record["at"] -= 3600
    session.save()


@pytest.mark.ignore_template_errors
@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_confirming_who_one_is_leads_back_to_the_same_confirmation(visit, settings, script):
    settings.REQUIRE_SECOND_FACTOR = True
    alice = person(Role.SENIOR_OPERATOR, name="alice")
    secret = enrol(alice)
    cache.clear()
    handoff = high_risk(orchestrator())
    visitor = visit(java_script_enabled=script).sign_in(alice)
    page = visitor.page
    page.fill("input[name=code]", code(secret))
    page.keyboard.press("Enter")
    page.wait_for_url("**/queue/")
    forget_the_factor(visitor)
    cache.clear()
    visitor.open(detail_url(handoff))
    page.fill("#reason", "I asked the customer")
    page.click("[data-approve]")
    if script:
        page.keyboard.press("Control+Enter")
    expect(page.locator("#problem")).to_contain_text("Confirm that it is you")
    page.fill("#reason", "I asked the customer, twice")
    page.click("[data-step-up]")
    page.fill("#id_code", "000000")
    page.keyboard.press("Enter")
    expect(page.locator("#code-error")).to_be_visible()
    page.fill("#id_code", code(secret))
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{detail_url(handoff)}#decision")
    assert page.input_value("#reason") == "I asked the customer, twice"
    assert reload(handoff).approvals_given == 0
    if script:
        expect(page.locator("#confirm")).to_be_visible()
        page.keyboard.press("Control+Enter")
    else:
        page.click("[data-approve]")
    expect(page.locator("[role=status] >> nth=0")).to_contain_text("Your approval counts: 1 of 2")
    assert reload(handoff).approvals_given == 1


def test_offline_nothing_is_sent_and_nothing_is_lost(visit):
    handoff = flagged(orchestrator())
    alice = visit(person(name="alice"))
    page = alice.page
    alice.open(detail_url(handoff))
    page.fill("#reason", "Not yet")
    alice.context.set_offline(True)
    expect(page.locator("[data-live-text]")).to_contain_text("Offline")
    page.click("button:has-text('Abort')")
    expect(page.locator(".toast")).to_contain_text("You are offline. Nothing was sent")
    page.keyboard.press("Escape")
    page.click("[data-approve]")
    expect(page.locator("#confirm")).to_be_hidden()
    alice.context.set_offline(False)
    expect(page.locator("[data-live-text]")).to_contain_text("Live", timeout=8000)
    assert page.input_value("#reason") == "Not yet"
    assert reload(handoff).state == "flagged"
