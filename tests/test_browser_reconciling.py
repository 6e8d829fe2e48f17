"""Approve is closed while one effect is unknown, and opens with the last answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import Visitor, running_browser
from tests.characters import orchestrator, person, reload
from tests.test_reconciliation import unknown, waiting
from tests.visiting import detail_url

pytestmark = [pytest.mark.django_db, pytest.mark.browser, pytest.mark.full]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


def test_approve_opens_when_every_effect_is_known(browser: Browser, live_server: Any) -> None:
    handoff = waiting(orchestrator(), unknown("call-b", "call-c"))
    visitor = Visitor(browser, live_server.url).sign_in(person())
    visitor.open(detail_url(handoff))
    page = visitor.page
    approve, notice = page.locator("[data-approve]"), page.locator("#still-unknown")
    expect(approve).to_be_disabled()
    expect(notice).to_be_visible()
    page.locator('input[name="reconcile:call-b"][value=happened]').check()
    expect(approve).to_be_disabled()
    page.locator('input[name="reconcile:call-c"][value=did_not_happen]').check()
    expect(approve).to_be_enabled()
    expect(notice).to_be_hidden()
    page.locator('input[name="reconcile:call-b"][value=unknown]').check()
    expect(approve).to_be_disabled()
    page.locator('input[name="reconcile:call-b"][value=happened]').check()
    for box in page.locator("[name=unopened]").all():
        box.check()
    page.locator("#reason").fill("Looked into the log of the bookings")
    approve.click()
    page.locator("[data-confirm]").click()
    page.wait_for_load_state()
    assert reload(handoff).state == "approved"
    assert visitor.trouble == []
    visitor.close()
