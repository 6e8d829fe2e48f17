"""The queue's tabs in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from reviewqueue.models import Claim
from tests.characters import flagged, fresh, high_risk, orchestrator, person, reload

pytestmark = [pytest.mark.django_db, pytest.mark.browser, pytest.mark.full]


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_tab_keeps_the_filter_and_shows_its_rows(visit, script):
    session = fresh("session")
    handoff = high_risk(orchestrator(), session_id=session)
    alice = visit(person(), java_script_enabled=script)
    alice.open(f"/queue/?session={session}")
    alice.page.click("#tab-risk")
    expect(alice.page.locator("#tab-risk")).to_have_attribute("aria-current", "page")
    expect(alice.page.locator("#tab-risk .n")).to_have_text("1")
    expect(alice.page.locator(f"#row-{handoff.pk}")).to_be_visible()
    expect(alice.page.locator(".chip")).to_contain_text(session)
    alice.page.click("#tab-second")
    expect(alice.page.get_by_role("heading", name="Nothing matches these filters")).to_be_visible()


def test_on_a_phone_the_current_tab_is_in_sight(visit):
    alice = visit(person(), viewport={"width": 390, "height": 860})
    alice.open("/queue/?view=rejected")
    expect(alice.page.locator("#tab-rejected")).to_be_in_viewport(ratio=0.95)


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_typed_terms_narrow_the_list_and_a_chip_takes_one_away(visit, script):
    session, owner = fresh("session"), orchestrator()
    risky = high_risk(owner, session_id=session, task_id="T-1")
    calm = flagged(owner, session_id=session, handoff_sequence=2, task_id="T-2")
    alice = visit(person(), java_script_enabled=script)
    alice.open("/queue/")
    alice.page.fill("#q", f"session:{session} is:high-risk")
    alice.page.press("#q", "Enter")
    expect(alice.page.locator(f"#row-{risky.pk}")).to_be_visible()
    expect(alice.page.locator(f"#row-{calm.pk}")).to_have_count(0)
    expect(alice.page.locator("#q")).to_have_value("")
    alice.page.click("[aria-label='Remove the filter is']")
    expect(alice.page.locator(f"#row-{calm.pk}")).to_be_visible()


def test_suggestions_complete_the_word_at_the_end(visit):
    alice = visit(person())
    alice.open("/queue/")
    alice.page.click("#q")
    alice.page.keyboard.type("refund sev")
    options = alice.page.locator("#terms option")
    values = options.evaluate_all("all => all.map(option => option.value)")
    assert "refund severity:high" in values
    assert all(value.startswith("refund ") for value in values)


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_chosen_rows_are_claimed_together_and_aborted_after_a_question(visit, script):
    session, owner = fresh("session"), orchestrator()
    handoffs = [
        flagged(owner, session_id=session, handoff_sequence=number, task_id=f"T-{number}")
        for number in (1, 2)
    ]
    bob = person(name="bob")
    alice = visit(bob, java_script_enabled=script)
    page = alice.page
    alice.open(f"/queue/?session={session}")
    expect(page.locator("#bulk")).to_be_hidden()
    for box in page.locator("[data-pick]").all():
        box.check()
    page.click("#bulk button:text-is('Claim')")
    expect(page.locator("[role=status]")).to_contain_text("2 claimed.")
    assert Claim.objects.filter(handoff__in=handoffs, holder=bob).count() == 2
    for box in page.locator("[data-pick]").all():
        box.check()
    page.click("#bulk button:text-is('Abort…')")
    expect(page.get_by_role("heading", name="Abort 2 handoffs?")).to_be_visible()
    page.fill("#reason", "Both are void")
    page.click("button:text-is('Abort 2')")
    expect(page.locator("[role=status]")).to_contain_text("2 aborted.")
    assert {reload(handoff).state for handoff in handoffs} == {"aborted"}


def test_a_row_is_chosen_by_key_and_the_choice_outlives_a_poll(visit):
    session = fresh("session")
    flagged(orchestrator(), session_id=session)
    alice = visit(person())
    alice.open(f"/queue/?session={session}")
    alice.page.keyboard.press("j")
    alice.page.keyboard.press("x")
    expect(alice.page.locator("[data-picked]")).to_have_text("1 chosen")
    alice.page.wait_for_timeout(2600)
    expect(alice.page.locator("[data-pick]")).to_be_checked()


def test_a_list_is_saved_under_a_name_and_opened_again(visit):
    session = fresh("session")
    flagged(orchestrator(), session_id=session)
    alice = visit(person())
    alice.open(f"/queue/?session={session}")
    alice.page.click(".views summary")
    alice.page.fill("#view-name", "Just this one")
    alice.page.click(".views button:text-is('Save')")
    alice.open("/queue/")
    alice.page.click(".views summary")
    alice.page.click(".views a:has-text('Just this one')")
    expect(alice.page.locator(".chip")).to_contain_text(session)
