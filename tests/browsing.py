"""A real browser on a real web process. Fixtures for tests/conftest.py.

Tests that use `page` or `browser` carry the mark `browser`. Without Chromium they are skipped and say so; with
REQUIRE_BROWSER=1, as CI sets it, that is a failure. CHROMIUM names another binary than /usr/bin/chromium.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.stack import stack

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

BINARY = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def site(server_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a web process on this worker's database, without a slash at its end."""
    with stack(server_environment, tmp_path_factory.mktemp("web"), "web", token="") as found:
        yield f"http://127.0.0.1:{found.port}"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not Path(BINARY).exists():
        reason = f"no Chromium at {BINARY}: install it, or set CHROMIUM to its path"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(f"REQUIRE_BROWSER=1, and {reason}")
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    # Playwright keeps an event loop in this thread, and Django would refuse its own blocking calls beside it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=BINARY, args=ARGUMENTS)
        yield launched
        launched.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def page(browser: Browser, site: str) -> Iterator[Page]:
    """A fresh browser profile at `site`. Scripts that fail and everything the security policy blocks fail the test."""
    context = browser.new_context(base_url=site)
    context.set_default_timeout(15_000)
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: _note(message, faults))
    yield opened
    context.close()
    assert faults == []


def _note(message: ConsoleMessage, faults: list[str]) -> None:
    # A page that answers 409 or 422 on purpose is an error to the console as well.
    if message.type == "error" and "Failed to load resource" not in message.text:
        faults.append(message.text)


def mark_browser_tests(items: list[pytest.Item]) -> None:
    for item in items:
        if {"page", "browser"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.browser)
