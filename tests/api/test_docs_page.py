"""The page of the documentation in a real browser, under its content security policy."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import Visitor, running_browser

pytestmark = [pytest.mark.django_db, pytest.mark.browser]


def test_the_page_lists_the_operations_and_asks_no_other_host(live_server: Any) -> None:
    with running_browser() as browser:
        visitor = Visitor(browser, live_server.url)
        page = visitor.page
        visitor.open("/api/docs")
        page.get_by_text("Post a checkpoint", exact=True).wait_for()
        assert page.locator(".opblock").count() > 25
        page.get_by_text("Ask for an attempt", exact=True).click()
        page.get_by_text("The answer is what the receiver gets").wait_for()
        visitor.close()
        assert visitor.trouble == []
