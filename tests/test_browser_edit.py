"""The edit page in a real browser: suggestions, checks while typing, drafts, the code editor, and without script."""

from __future__ import annotations

import json
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from reviewqueue.models import EditDraft
from tests.characters import document, flagged, fresh, orchestrator, person, reload
from tests.test_browser import FAINT
from tests.visiting import detail_url

pytestmark = [pytest.mark.django_db, pytest.mark.browser, pytest.mark.full]

STEP = document()["completed_steps"][0]


def doubled(**changes):
    return flagged(orchestrator(), session_id=fresh("session"), completed_steps=[STEP, STEP], **changes)


def opened(visit, handoff, **options):
    alice = visit(person(name="alice"), **options)
    alice.open(f"{detail_url(handoff)}edit/")
    return alice.page


def stored(handoff):
    return json.loads(bytes(handoff.checkpoints.get(revision=handoff.revision).body.content))


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_suggestion_is_put_into_the_text_and_saved(visit, script):
    handoff = doubled()
    page = opened(visit, handoff, java_script_enabled=script)
    expect(page.locator(".suggestion").first).to_contain_text("Remove the copy of")
    page.locator("[data-apply]").first.click()
    expect(page.locator(".found-gone")).to_contain_text("The same step stands twice in completed_steps")
    assert reload(handoff).revision == 1
    page.fill("#reason", "The copy is gone")
    page.click("[data-save]")
    expect(page.locator("[role=status]").first).to_contain_text("replaces the original")
    saved = reload(handoff)
    assert saved.revision == 2
    assert len(stored(saved)["completed_steps"]) == 1


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_fields_change_the_text(visit, script):
    handoff = flagged(orchestrator(), session_id=fresh("session"))
    page = opened(visit, handoff, java_script_enabled=script)
    page.fill("#set-target", "legal")
    page.fill("#set-constraints", "pii_masking\neu_only")
    page.click("[data-check-now]")
    expect(page.locator("#document")).to_have_value(re.compile("eu_only"))
    page.fill("#reason", "Legal decides this")
    page.click("[data-save]")
    expect(page.locator("[role=status]").first).to_contain_text("replaces the original")
    body = stored(reload(handoff))
    assert body["handoff_target"]["target_role"] == "legal"
    assert body["active_constraints"] == ["pii_masking", "eu_only"]


def test_typing_in_the_editor_is_checked_kept_and_there_after_a_reload(visit):
    handoff = doubled()
    page = opened(visit, handoff)
    code = page.locator("[data-code-editor] .cm-content")
    expect(code).to_be_visible()
    expect(page.locator("#document")).to_be_hidden()
    code.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("x")
    expect(page.locator("[data-checked]")).to_contain_text("cannot be saved like this")
    page.keyboard.press("Backspace")
    expect(page.locator("[data-checked]")).to_contain_text("Nothing is changed yet")
    page.keyboard.press("Control+End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("End")
    page.keyboard.type(', "note": "by hand"')
    expect(page.locator("[data-checked]")).to_contain_text("New content digest")
    page.reload()
    expect(page.locator("[data-code-editor] .cm-content")).to_contain_text("by hand")
    assert EditDraft.objects.filter(handoff=handoff).count() == 1
    page.click("button:text-is('Discard the draft')")
    expect(page.locator("[data-code-editor] .cm-content")).not_to_contain_text("by hand")


def test_keys_leave_the_editor_and_single_keys_do_nothing_in_it(visit):
    handoff = doubled()
    page = opened(visit, handoff)
    code = page.locator("[data-code-editor] .cm-content")
    code.click()
    page.keyboard.type("jkace?/")
    assert page.url.endswith("/edit/")
    assert not page.locator("dialog[open]").count()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[data-code-editor]') === null")


def test_another_editor_is_named_and_the_first_to_save_wins(visit):
    handoff = doubled()
    first, second = opened(visit, handoff), opened(visit, handoff)
    first.locator("[data-apply]").first.click()
    expect(first.locator(".found-gone")).to_be_visible()
    second.click("[data-check-now]")
    expect(second.locator("[data-checked]")).to_contain_text("edits this too")
    first.fill("#reason", "First")
    first.click("[data-save]")
    expect(first.locator("[role=status]").first).to_contain_text("replaces the original")
    second.locator("[data-apply]").first.click()
    second.fill("#reason", "Second")
    second.click("[data-save]")
    expect(second.locator("#problem")).to_contain_text("Your edit was not saved")
    expect(second.locator("#reason")).to_have_value("Second")
    assert reload(handoff).revision == 2


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_accessible_with_everything_open(visit, theme):
    handoff = doubled()
    page = opened(visit, handoff, color_scheme=theme, reduced_motion="reduce")
    expect(page.locator("[data-code-editor] .cm-content")).to_be_visible()
    page.locator("[data-apply]").first.click()
    expect(page.locator(".found-gone")).to_be_visible()
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    found = Axe().run(page).response
    assert [(item["id"], [node["target"] for node in item["nodes"]]) for item in found["violations"]] == []
    assert page.evaluate(FAINT) == []
    page.set_viewport_size({"width": 390, "height": 860})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
