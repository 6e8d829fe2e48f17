"""The browser fixtures themselves: a page opens, and what the policy blocks fails a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests import browsing
from tests.stack import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def test_the_sign_in_page_opens_without_a_fault(page: Page) -> None:
    answer = page.goto("/accounts/login/")
    assert answer is not None
    assert answer.status == 200
    assert page.locator("input[name=password]").is_visible()


def test_what_the_security_policy_blocks_is_noticed(browser: Browser, site: str) -> None:
    context = browser.new_context(base_url=site)
    page = context.new_page()
    faults: list[str] = []
    page.on("console", lambda message: browsing._note(message, faults))
    page.goto("/accounts/login/")
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = '1'; document.body.append(s); }"
    )
    context.close()
    assert len(faults) == 1
    assert "Content Security Policy" in faults[0]


def test_a_missing_browser_is_a_failure_where_one_is_required(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest("from tests.browsing import browser")
    pytester.makepyfile("def test_it(browser): pass")
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    arguments = ("-p", "no:django", "-p", "no:randomly", "-p", "no:cacheprovider", "-rs")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("REQUIRE_BROWSER", raising=False)
    skipped = pytester.runpytest_subprocess(*arguments)
    skipped.assert_outcomes(skipped=1)
    skipped.stdout.fnmatch_lines("*no Chromium at /nowhere/chromium: install it, or set CHROMIUM*")
    monkeypatch.setenv("REQUIRE_BROWSER", "1")
    required = pytester.runpytest_subprocess(*arguments)
    required.assert_outcomes(errors=1)
    required.stdout.fnmatch_lines("*REQUIRE_BROWSER=1, and no Chromium at*")
