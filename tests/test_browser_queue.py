"""The queue's tabs in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import Visitor, running_browser
from tests.characters import fresh, high_risk, orchestrator, person

pytestmark = [pytest.mark.django_db, pytest.mark.browser, pytest.mark.full]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_tab_keeps_the_filter_and_shows_its_rows(browser, live_server, script):
    session = fresh("session")
    handoff = high_risk(orchestrator(), session_id=session)
    alice = Visitor(browser, live_server.url, java_script_enabled=script).sign_in(person())
    alice.open(f"/queue/?session={session}")
    alice.page.click("#tab-risk")
    expect(alice.page.locator("#tab-risk")).to_have_attribute("aria-current", "page")
    expect(alice.page.locator("#tab-risk .n")).to_have_text("1")
    expect(alice.page.locator(f"#row-{handoff.pk}")).to_be_visible()
    expect(alice.page.locator(".chip")).to_contain_text(session)
    alice.page.click("#tab-second")
    expect(alice.page.get_by_role("heading", name="Nothing matches these filters")).to_be_visible()
    alice.close()
    assert not alice.trouble


def test_on_a_phone_the_current_tab_is_in_sight(browser, live_server):
    alice = Visitor(browser, live_server.url, viewport={"width": 390, "height": 860}).sign_in(person())
    alice.open("/queue/?view=rejected")
    expect(alice.page.locator("#tab-rejected")).to_be_in_viewport(ratio=0.95)
    alice.close()
    assert not alice.trouble
