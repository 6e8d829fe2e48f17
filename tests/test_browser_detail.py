"""One handoff in a real browser: findings that open, documents that are compared, comments, with and without script."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from checkpoints.services.bodies import current_body
from reviewqueue.models import Comment, Viewing
from reviewqueue.services.viewing import opened_findings
from tests.characters import document, flagged, fresh, judged, orchestrator, person
from tests.test_browser import FAINT
from tests.test_comparing import two_checkpoints
from tests.test_pages_text import CORPUS, everywhere
from tests.visiting import detail_url

pytestmark = [pytest.mark.django_db, pytest.mark.browser, pytest.mark.full]

QUESTION = {
    "decision_id": "d-1",
    "question": "Pay in full?",
    "options": ["full", "half"],
    "recommendation": "full, at once",
    "blocking": True,
}


def two_findings(**changes: Any) -> Any:
    """A handoff with a repeated step, an open question and a warning."""
    step = document()["completed_steps"][0]
    given = {"completed_steps": [step, step], "pending_decisions": [QUESTION], "task_status": "blocked"}
    return judged(orchestrator(), document(**{**given, **changes}))


def test_a_finding_is_opened_by_one_key_and_its_place_by_another(visit):
    handoff, alice = two_findings(), person(name="alice")
    visitor = visit(alice)
    visitor.open(detail_url(handoff))
    page = visitor.page
    page.keyboard.press("i")
    expect(page.locator("#finding-1")).to_be_focused()
    expect(page.locator("#finding-1[data-opened]")).to_be_visible()
    assert len(opened_findings(handoff=handoff, user=alice)) == 1
    page.keyboard.press("Enter")
    expect(page.locator(".tree .found")).to_be_in_viewport()
    visitor.open(detail_url(handoff))
    expect(page.locator("#finding-1[data-opened]")).to_be_visible()


def test_the_first_screen_holds_verdict_facts_choices_and_the_first_finding(visit):
    _, handoff = two_checkpoints()
    alice = visit(person(name="alice"), viewport={"width": 1360, "height": 900})
    alice.open(detail_url(handoff))
    for part in (".verdict", "[data-finding]", "[data-approve]"):
        expect(alice.page.locator(part).first).to_be_in_viewport(ratio=1)
    heights = alice.page.locator("[data-finding]").evaluate_all("all => all.map(item => item.clientHeight)")
    assert max(heights) < 300


def test_the_recommendation_waits_until_the_findings_were_opened(visit):
    handoff = two_findings()
    visitor = visit(person(name="alice"))
    visitor.open(detail_url(handoff))
    page = visitor.page
    recommended = page.locator("#decide .said", has_text="full, at once")
    page.click("#decide [data-recommendation] summary")
    expect(recommended).to_be_hidden()
    expect(page.locator("#decide .hint[role=status]")).to_contain_text("Open the findings first")
    for number in range(1, page.locator("[data-finding]").count() + 1):
        page.click(f"#finding-{number} h3")
        expect(page.locator(f"#finding-{number}[data-opened]")).to_be_visible()
    page.click("#decide [data-recommendation] summary")
    expect(recommended).to_be_visible()
    for fold in page.locator(".tree [data-recommendation]").all():
        assert fold.get_attribute("open") is None


def test_another_document_is_compared_without_leaving_the_page(visit):
    first, second = two_checkpoints()
    visitor = visit(person(name="alice"))
    visitor.open(detail_url(second))
    page = visitor.page
    expect(page.locator("#changes-title")).to_contain_text("Changes since sequence 1")
    expect(page.locator("#changes ins mark").first).to_have_text("limit_900")
    visitor.open(detail_url(first))
    expect(page.locator("#changes")).to_have_count(0)
    third = flagged(second.orchestrator, session_id=second.session.session_id, handoff_sequence=3)
    visitor.open(detail_url(third))
    page.select_option("#against", "1")
    expect(page.locator("#changes-title")).to_contain_text("Changes since sequence 1")
    assert page.url.endswith(detail_url(third))


def test_the_layout_is_a_choice_and_one_column_on_a_small_screen(visit):
    _, handoff = two_checkpoints()
    visitor = visit(person(name="alice"), java_script_enabled=False)
    visitor.open(detail_url(handoff))
    page = visitor.page

    def columns() -> int:
        return len(
            page.locator("#changes .pair")
            .first.evaluate("e => getComputedStyle(e).gridTemplateColumns")
            .split()
        )

    assert columns() == 2
    page.check("input[name=layout][value=unified]")
    assert columns() == 1
    page.check("input[name=layout][value=side]")
    page.set_viewport_size({"width": 800, "height": 800})
    assert columns() == 1


def test_comparing_works_without_script(visit):
    _, handoff = two_checkpoints()
    visitor = visit(person(name="alice"), java_script_enabled=False)
    visitor.open(detail_url(handoff))
    visitor.page.click("#changes button:has-text('Compare')")
    visitor.page.wait_for_url("**/diff/?*")
    expect(visitor.page.locator("#changes")).to_contain_text("limit_900")
    visitor.page.click("summary:has-text('RFC 6902')")
    expect(visitor.page.locator(".patch")).to_contain_text("/active_constraints/1")


def test_a_comment_on_a_place_by_hand_and_without_script(visit):
    handoff, bob = flagged(orchestrator()), person(name="bob")
    visitor = visit(person(name="alice"), java_script_enabled=False)
    visitor.open(detail_url(handoff))
    page = visitor.page
    page.fill("#comment", f"@{bob.username} look here")
    page.click("summary:has-text('About one place')")
    page.fill("#pointer", "/completed_steps/0")
    page.click("#comments button:text-is('Comment')")
    expect(page.locator("#comments")).to_contain_text("look here")
    page.click("#comments a[data-jump]")
    expect(page.locator(".tree :target")).to_be_visible()
    page.click("#comments button:has-text('Remove')")
    expect(page.locator("#comments")).to_contain_text("Removed by its author.")
    assert Comment.objects.get(handoff=handoff).removed_at is not None


def test_the_document_is_searched_copied_from_and_saved(visit):
    handoff = flagged(orchestrator())
    visitor = visit(person(name="alice"))
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.open(detail_url(handoff))
    page = visitor.page
    if not page.locator("#raw[open]").count():
        page.click("#raw > summary")
    page.click("[id='at/task_id']")
    page.click("[data-copy]")
    assert page.evaluate("navigator.clipboard.readText()") == "/task_id"
    page.click("[data-comment-here]")
    expect(page.locator("#pointer")).to_have_value("/task_id")
    expect(page.locator("#comment")).to_be_focused()
    with page.expect_download() as saved:
        page.click("a[download]:has-text('Download')")
    assert saved.value.path().read_bytes() == current_body(handoff=handoff)
    page.fill("#raw-search", "cracked")
    page.press("#raw-search", "Enter")
    expect(page.locator(".hits")).to_contain_text("/context_snapshot/key_facts/0")


def test_time_and_the_comparison_in_front_are_recorded(visit):
    _, handoff = two_checkpoints()
    alice = person(name="alice")
    visitor = visit(alice)
    visitor.open(detail_url(handoff))
    visitor.page.locator("#changes").scroll_into_view_if_needed()
    with visitor.page.expect_response(
        lambda answer: "seen/" in answer.url and "what=diff" in (answer.request.post_data or "")
    ):
        pass
    row = Viewing.objects.get(handoff=handoff, viewer=alice)
    assert row.diff_opened_at is not None


def test_hostile_text_in_both_documents_and_in_comments_stays_text(visit):
    owner, session = orchestrator(), fresh("session")
    text = " ".join(CORPUS)
    judged(owner, document(session_id=session, **everywhere(text[: len(text) // 2])))
    handoff = judged(owner, document(session_id=session, handoff_sequence=2, **everywhere(text)))
    alice = person(name="alice")
    visitor = visit(alice)
    visitor.open(detail_url(handoff))
    page = visitor.page
    page.fill("#comment", text[:3000])
    page.click("#comments button:text-is('Comment')")
    page.wait_for_load_state()
    visitor.open(f"{detail_url(handoff)}diff/?against=1")
    visitor.open(f"{detail_url(handoff)}search/?q=script")
    page.wait_for_timeout(300)
    assert page.locator(".hits li").count() > 5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_with_everything_on_it_is_accessible(visit, theme):
    _, handoff = two_checkpoints()
    alice = person(name="alice")
    visitor = visit(alice, color_scheme=theme, reduced_motion="reduce")
    visitor.open(detail_url(handoff))
    page = visitor.page
    page.fill("#comment", f"@{alice.username} remember this")
    page.click("#comments button:text-is('Comment')")
    page.wait_for_load_state()
    for path in (detail_url(handoff), f"{detail_url(handoff)}diff/", f"{detail_url(handoff)}search/?q=claim"):
        visitor.open(path)
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        found = Axe().run(page).response
        assert [
            (item["id"], [node["target"] for node in item["nodes"]]) for item in found["violations"]
        ] == []
        assert page.evaluate(FAINT) == []
        page.set_viewport_size({"width": 390, "height": 860})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.set_viewport_size({"width": 1360, "height": 860})
