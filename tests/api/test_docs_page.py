"""The page of the documentation in a real browser, under its content security policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_the_page_lists_the_operations_and_asks_no_other_host(page: Page) -> None:
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    page.goto("/api/docs")
    page.get_by_text("Post a checkpoint", exact=True).wait_for()
    assert page.locator(".opblock").count() > 25
    page.get_by_text("Ask for an attempt", exact=True).click()
    page.get_by_text("The answer is what the receiver gets").wait_for()
    assert {host.split(":")[0] for host in hosts} == {"127.0.0.1"}
