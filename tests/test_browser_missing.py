"""Where Chromium is missing: skipped with a reason on a desk, a failure in CI."""

from __future__ import annotations

import pytest

from tests import browser


@pytest.fixture(autouse=True)
def no_chromium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "chromium", lambda: None)


def test_without_a_browser_its_tests_are_skipped_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUIRE_BROWSER", raising=False)
    with pytest.raises(pytest.skip.Exception, match="Chromium was not found"), browser.running_browser():
        pass


def test_without_a_browser_they_fail_where_one_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUIRE_BROWSER", "1")
    with pytest.raises(pytest.fail.Exception, match="Chromium was not found"), browser.running_browser():
        pass
