"""The queue's tabs in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.characters import fresh, high_risk, orchestrator, person

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
