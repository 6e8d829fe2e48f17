"""Chromium for the tests that need one, and what a page may never do in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from reviewqueue.models import User
from tests.visiting import PASSWORD

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """The browser's program: CHROMIUM, else the system's."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A Chromium, or a skip that says why; REQUIRE_BROWSER=1 makes the missing one a failure."""
    program = chromium()
    if program is None:
        message = "Chromium was not found: install it, or set CHROMIUM to its program."
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(message)
        pytest.skip(message)
    # Playwright's event loop runs in this thread; the tests' own queries are as synchronous as ever.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A person in a browser. `trouble` collects errors, blocked content and requests that leave the site."""

    def __init__(self, browser: Browser, base_url: str, **options: Any) -> None:
        settings = {"viewport": {"width": 1360, "height": 860}, **options}
        self.base_url = base_url
        self.context: BrowserContext = browser.new_context(**settings)
        self.context.set_default_timeout(8000)
        self.page: Page = self.context.new_page()
        self.trouble: list[str] = []
        self.page.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.trouble.append(f"dialog: {dialog.message}"))
        self.page.on("console", self._listen)
        self.page.on("request", self._watch)

    def _listen(self, message: Any) -> None:
        # The answers 4xx that a test provokes on purpose are logged by the browser as failed loads.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.trouble.append(message.text)

    def _watch(self, request: Any) -> None:
        if not request.url.startswith((self.base_url, "data:", "blob:")):
            self.trouble.append(f"request: {request.url}")

    def sign_in(self, user: User) -> Visitor:
        self.open("/accounts/login/")
        self.page.fill("#id_login", user.username)
        self.page.fill("#id_password", PASSWORD)
        self.page.click("button:has-text('Sign in')")
        self.page.wait_for_load_state()
        return self

    def open(self, path: str) -> Any:
        return self.page.goto(self.base_url + path)

    def close(self) -> None:
        self.context.close()


type Visit = Callable[..., Visitor]
