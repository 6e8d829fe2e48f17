"""The pages in a real browser: with and without script, by keyboard, in both themes, on small and large screens."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from reviewqueue.models import Role, SavedView
from reviewqueue.services import claiming, deciding
from tests.browser import Visitor
from tests.characters import (
    approved,
    document,
    flagged,
    form,
    fresh,
    high_risk,
    judged,
    orchestrator,
    person,
    reload,
)
from tests.test_pages_text import CORPUS, everywhere
from tests.visiting import detail_url

pytestmark = [pytest.mark.django_db, pytest.mark.browser]


def repeated_step(owner: Any, **changes: Any) -> Any:
    step = document()["completed_steps"][0]
    return judged(owner, document(completed_steps=[step, step], **changes))


# A browser takes seconds a test. `make test` shows that decisions work with and without script; `make test-pages`
# runs all, and CI does.
beside_the_suite = pytest.mark.full


def test_an_operator_decides_without_script(visit):
    handoff = flagged(orchestrator(), session_id=fresh("session"))
    alice = visit(person(name="alice"), java_script_enabled=False)
    page = alice.page
    alice.open(f"/queue/?session={handoff.session.session_id}")
    page.click("button:has-text('Claim')")
    expect(page.locator(f"#row-{handoff.pk}")).to_contain_text("you")
    page.click(f"#row-{handoff.pk} a[data-open]")
    expect(page.locator(".claimbar")).to_contain_text("You hold the claim")
    page.click("button:has-text('Abort')")
    expect(page.locator("#problem")).to_contain_text("Say why the handoff is aborted")
    page.fill("#reason", "Wrong customer")
    page.click("summary:has-text('Send back')")
    page.select_option("#advice", "restart")
    page.click("button:has-text('Abort')")
    expect(page.locator("[role=status]")).to_contain_text("Aborted")
    assert reload(handoff).state == "aborted"


@beside_the_suite
def test_an_approval_without_script_is_one_click_on_its_button(visit):
    handoff = flagged(orchestrator())
    alice = visit(person(name="alice"), java_script_enabled=False)
    alice.open(detail_url(handoff))
    alice.page.click("button:has-text('Approve')")
    expect(alice.page.locator("[role=status]")).to_contain_text("Approved with ticket")


@beside_the_suite
def test_the_place_of_a_finding_opens_without_script(visit):
    handoff = repeated_step(orchestrator())
    alice = visit(person(name="alice"), java_script_enabled=False)
    alice.open(detail_url(handoff))
    alice.page.click("a[data-jump] >> nth=0")
    expect(alice.page.locator(".tree :target")).to_be_visible()


def test_the_whole_journey_by_keyboard(visit):
    session, owner = fresh("session"), orchestrator()
    first = repeated_step(owner, session_id=session, task_id="T-1")
    flagged(owner, session_id=session, handoff_sequence=2, task_id="T-2")
    page = visit(person(name="alice")).page
    page.goto(f"{page.url.split('/queue/')[0]}/queue/?session={session}")
    keys = page.keyboard
    keys.press("j")
    keys.press("j")
    keys.press("k")
    expect(page.locator(f"#row-{first.pk} a[data-open]")).to_be_focused()
    keys.press("c")
    expect(page.locator(f"#row-{first.pk}")).to_contain_text("you")
    keys.press("j")
    keys.press("Enter")
    page.wait_for_url(f"**{detail_url(first)}?list=*")
    keys.press("i")
    expect(page.locator("#finding-1")).to_be_focused()
    keys.press("Enter")
    expect(page.locator(".tree .found")).to_be_visible()
    assert page.evaluate("document.activeElement.closest('.found') !== null")
    page.focus("#reason")
    keys.type("a is only a letter here, and ? and j too")
    assert page.input_value("#reason") == "a is only a letter here, and ? and j too"
    keys.press("Escape")
    keys.press("a")
    expect(page.locator("#confirm")).to_be_visible()
    expect(page.locator("#confirm")).to_contain_text("billing receives revision 1")
    assert reload(first).state == "flagged", "no single key decides"
    keys.press("Enter")  # the focus stands on Back
    expect(page.locator("#confirm")).to_be_hidden()
    keys.press("a")
    keys.press("Control+Enter")
    expect(page.locator("[role=status]")).to_contain_text("Approved")
    assert reload(first).state == "approved"


@beside_the_suite
def test_a_screen_reader_is_told_the_same_in_the_same_order(visit):
    session = fresh("session")
    handoff = repeated_step(orchestrator(), session_id=session)
    alice = visit(person(name="alice"))
    alice.open(f"/queue/?session={session}")
    queue = alice.page.locator("main").aria_snapshot()
    for part in (
        'heading "Queue" [level=1]',
        'navigation "Views"',
        "table",
        'columnheader "Severity"',
        "checkbox",
    ):
        assert part in queue, part
    alice.open(detail_url(handoff))
    page = alice.page.locator("body").aria_snapshot()
    order = [
        page.index(part)
        for part in ('link "Skip to content"', 'heading "', "Stopped", 'heading "Findings', 'button "Approve')
    ]
    assert order == sorted(order)
    assert 'textbox "Reason' in page


@beside_the_suite
def test_single_keys_can_be_switched_off(visit):
    session = fresh("session")
    flagged(orchestrator(), session_id=session)
    alice = visit(person(name="alice"))
    page = alice.page
    alice.open(f"/queue/?session={session}")
    page.keyboard.press("?")
    expect(page.locator("#keymap")).to_be_visible()
    page.click("text=Switch single keys off")
    page.wait_for_load_state()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement === document.body || document.activeElement.id === 'main'")
    page.keyboard.press("?")
    expect(page.locator("#keymap")).to_be_hidden()


@beside_the_suite
def test_the_list_stays_where_it_is_while_rows_come_and_go(visit):
    session, owner = fresh("session"), orchestrator()
    one = flagged(owner, session_id=session, task_id="T-1")
    two = flagged(owner, session_id=session, handoff_sequence=2, task_id="T-2")
    alice = visit(person(name="alice"))
    page = alice.page
    alice.open(f"/queue/?session={session}")
    page.focus(f"#row-{two.pk} a[data-open]")
    before = page.locator(f"#row-{two.pk}").bounding_box()
    bob = person(name="bob")
    claiming.claim(handoff_id=two.pk, reviewer=bob)
    repeated_step(owner, session_id=session, handoff_sequence=3, task_id="T-3")
    deciding.decide(handoff_id=one.pk, reviewer=bob, form=form(one, "abort"))
    expect(page.locator("[data-news]")).to_have_text("1 new · show", timeout=8000)
    expect(page.locator(f"#row-{one.pk}")).to_have_class("gone")
    expect(page.locator(f"#row-{one.pk} .c-who")).to_have_attribute("data-note", f"{bob.label} aborted")
    expect(page.locator(f"#row-{two.pk}")).to_contain_text(bob.label)
    expect(page.locator("#tab-waiting .n")).to_have_text("2")
    assert page.evaluate("document.activeElement.closest('tr').id") == f"row-{two.pk}"
    after = page.locator(f"#row-{two.pk}").bounding_box()
    assert abs(after["x"] - before["x"]) < 1
    page.click("[data-news]")
    expect(page.locator("#rows tr")).to_have_count(2)


@beside_the_suite
def test_polls_ask_with_the_version_they_show(visit):
    session = fresh("session")
    flagged(orchestrator(), session_id=session)
    alice = visit(person(name="alice"))
    answers: list[int] = []
    alice.page.on(
        "response",
        lambda response: (
            answers.append(response.status) if "hx-request" in response.request.headers else None
        ),
    )
    alice.open(f"/queue/?session={session}")
    alice.page.wait_for_timeout(7000)
    assert answers[0] == 200
    assert set(answers[1:]) == {304}


def test_somebody_elses_decision_is_told_and_the_typed_text_stays(visit):
    handoff = flagged(orchestrator())
    alice, bob = visit(person(name="alice")), person(name="bob")
    alice.open(detail_url(handoff))
    alice.page.fill("#reason", "I was about to approve this")
    deciding.decide(handoff_id=handoff.pk, reviewer=bob, form=form(handoff, "abort"))
    expect(alice.page.locator("#changed")).to_contain_text(f"{bob.label} aborted", timeout=8000)
    assert alice.page.input_value("#reason") == "I was about to approve this"
    expect(alice.page.locator("button[value=approve]")).to_be_disabled()


@beside_the_suite
def test_typed_text_survives_a_claim_and_a_reload(visit):
    handoff = flagged(orchestrator())
    alice = visit(person(name="alice"))
    alice.open(detail_url(handoff))
    alice.page.fill("#reason", "Half a thought")
    alice.page.click("button:has-text('Claim')")
    expect(alice.page.locator(".claimbar")).to_contain_text("You hold the claim")
    assert alice.page.input_value("#reason") == "Half a thought"


@beside_the_suite
def test_the_session_may_end_while_a_page_is_open(visit):
    handoff = flagged(orchestrator())
    alice = visit(person(name="alice"))
    alice.open(detail_url(handoff))
    alice.page.fill("#reason", "Not lost")
    alice.context.clear_cookies()
    expect(alice.page.locator(".toast")).to_contain_text("You are signed out", timeout=8000)
    assert alice.page.input_value("#reason") == "Not lost"


@beside_the_suite
def test_the_theme_changes_at_once_and_is_kept(visit):
    alice = visit(person(name="alice"), color_scheme="light")
    alice.open("/queue/")
    alice.page.click("button[aria-label='Use dark colours']")
    assert alice.page.get_attribute("html", "data-theme") == "dark"
    alice.page.wait_for_timeout(500)
    alice.open("/handoffs/")
    assert alice.page.get_attribute("html", "data-theme") == "dark"


@beside_the_suite
def test_hostile_text_runs_nothing_and_loads_nothing(visit):
    hostile = everywhere(" ".join(CORPUS))
    handoff = judged(orchestrator(), document(**hostile))
    senior = person(Role.SENIOR_OPERATOR)
    alice = visit(senior)
    for number, text in enumerate(CORPUS[:8]):
        SavedView.objects.create(
            owner=senior,
            name=f"{number}{text}"[:60],
            query=urlencode({"q": text}),
            created_at=handoff.received_at,
        )
    session = handoff.session.session_id
    for path in (
        detail_url(handoff),
        f"/queue/?session={session}",
        f"/handoffs/?session={session}",
        f"/sessions/{session}/",
        f"{detail_url(handoff)}edit/",
        f"/queue/?{urlencode({'q': CORPUS[0], 'session': session})}",
        f"/search/?{urlencode({'q': CORPUS[0]})}",
        "/queue/views/",
    ):
        alice.open(path)
        alice.page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true })")
    alice.page.wait_for_timeout(300)
    assert alice.trouble == []


def addresses() -> list[tuple[Role, str]]:
    """One address of each kind of page, with something on it."""
    owner, session = orchestrator(), fresh("session")
    waiting = repeated_step(owner, session_id=session, task_id="T-1")
    question = {"decision_id": "d", "question": "Pay?", "options": ["yes", "no"], "blocking": True}
    asks = {"pending_decisions": [{**question, "recommendation": "yes"}], "task_status": "blocked"}
    asked = judged(owner, document(session_id=session, handoff_sequence=2, task_id="T-2", **asks))
    two = high_risk(owner, session_id=session, handoff_sequence=3, task_id="T-3")
    deciding.decide(handoff_id=two.pk, reviewer=person(), form=form(two))
    bad = document(session_id=session, handoff_sequence=4, task_id="T-4")
    bad["completed_steps"][0]["description"] = "Changed after hashing"
    rejected = judged(owner, bad)
    done = approved(owner, session_id=session, handoff_sequence=5, task_id="T-5")
    senior, manager, admin = Role.SENIOR_OPERATOR, Role.MANAGER, Role.ADMIN
    return [
        (senior, f"/queue/?session={session}"),
        (senior, f"/queue/?session={fresh('none')}"),
        (senior, "/queue/?q=is:x%20severity:high"),
        (senior, "/queue/views/"),
        *((senior, detail_url(handoff)) for handoff in (waiting, asked, two, rejected, done)),
        (senior, f"{detail_url(waiting)}edit/"),
        (senior, f"{detail_url(asked)}diff/?against=1"),
        (senior, f"{detail_url(asked)}search/?q=claim"),
        (senior, f"{detail_url(waiting)}node/"),
        (senior, f"/handoffs/?session={session}"),
        (senior, f"/sessions/{session}/"),
        (senior, f"/tickets/{done.approval_ticket_reference}/"),
        (senior, "/refusals/"),
        (senior, f"/search/?q={session}"),
        (senior, "/settings/"),
        (senior, "/settings/keys/"),
        (senior, "/help/keys/"),
        (senior, "/nothing/"),
        (manager, "/audit/"),
        (manager, "/dashboard/"),
        (manager, "/policy/"),
        (admin, "/tokens/"),
    ]


EDITOR = "editor.min"


@dataclass
class Survey:
    """What was measured on every page, each loaded once."""

    pages: int = 0
    rules_passed: int = 0
    violations: list[str] = field(default_factory=list)
    faint: list[str] = field(default_factory=list)
    too_wide: list[str] = field(default_factory=list)
    small: list[str] = field(default_factory=list)
    trouble: list[str] = field(default_factory=list)
    heaviest: int = 0
    with_editor: list[str] = field(default_factory=list)

    def measure(self, visitor: Visitor, path: str) -> None:
        page = visitor.page
        weight: list[int] = []

        def weigh(response: Any) -> None:
            if EDITOR in response.url:
                self.with_editor.append(path)
            else:
                weight.append(_weight(response))

        page.on("response", weigh)
        visitor.open(path)
        page.wait_for_timeout(100)
        page.remove_listener("response", weigh)
        self.pages += 1
        self.heaviest = max(self.heaviest, sum(weight))
        self.small += [f"{path}: {item}" for item in page.evaluate(SMALL)]
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            # Structure is the same in both themes; only colours have to be judged twice.
            options = {"runOnly": ["color-contrast"]} if theme == "dark" else {}
            result = Axe().run(page, options=options).response
            self.rules_passed += len(result["passes"])
            self.violations += [
                f"{theme} {path}: {item['id']} {_targets(item)}" for item in result["violations"]
            ]
            self.faint += [f"{theme} {path}: {item}" for item in page.evaluate(FAINT)]
        for width in (320, 390, 768, 1100, 2560):  # 320: 1280 at 400 %
            page.set_viewport_size({"width": width, "height": 860})
            if page.evaluate("document.documentElement.scrollWidth") > width:
                self.too_wide.append(f"{width} {path}")
        page.set_viewport_size({"width": 1360, "height": 860})
        page.emulate_media(color_scheme="light")


def _weight(response: Any) -> int:
    """Bytes of an answer as sent; the fonts, shared by all pages and kept by the browser, aside."""
    return 0 if "woff2" in response.url or not response.ok else len(gzip.compress(response.body()))


def _targets(item: Any) -> str:
    return json.dumps([node["target"] for node in item["nodes"]][:4])


# All pages, both themes, four widths: over a minute of Chromium. `make test-pages` runs it, and CI does.
surveyed = pytest.mark.full


@pytest.fixture(scope="module")
def survey(browser: Browser, live_server: Any, django_db_setup: None, django_db_blocker: Any) -> Survey:
    with django_db_blocker.unblock():
        found = Survey()
        still = {"reduced_motion": "reduce"}
        entrance = Visitor(browser, live_server.url, **still)
        found.measure(entrance, "/accounts/login/")
        visitors = {role: Visitor(browser, live_server.url, **still).sign_in(person(role)) for role in Role}
        for role, path in addresses():
            found.measure(visitors[role], path)
        for visitor in (entrance, *visitors.values()):
            found.trouble += visitor.trouble
            visitor.close()
    return found


@surveyed
def test_every_page_passes_axe_in_both_themes(survey):
    assert survey.rules_passed > 15 * survey.pages
    assert survey.violations == []


@surveyed
def test_every_text_stands_out_from_its_ground_in_both_themes(survey):
    """WCAG 1.4.3, measured on painted colours: axe cannot read every colour space."""
    assert survey.faint == []


@surveyed
def test_no_page_scrolls_sideways_from_320_to_2560_pixels(survey):
    assert survey.too_wide == []


@surveyed
def test_everything_to_press_is_at_least_24_pixels_high(survey):
    assert survey.small == []


@surveyed
def test_every_page_obeys_the_content_security_policy(survey):
    assert survey.trouble == []


@surveyed
def test_no_page_weighs_more_than_150_kilobytes(survey):
    assert 10_000 < survey.heaviest < 150_000


@surveyed
def test_the_editor_is_loaded_where_somebody_edits_and_nowhere_else(survey):
    assert survey.with_editor
    assert {path.rstrip("/").rpartition("/")[2] for path in survey.with_editor} == {"edit"}


SMALL = """
() => [...document.querySelectorAll('button, select, input:not([type=hidden]), summary, .btn, nav a, .tabs a')]
  .filter((element) => element.checkVisibility())
  .map((element) => {
    const pressed = element.matches('input[type=radio], input[type=checkbox]') ? element.closest('label') : element;
    return [element, pressed.getBoundingClientRect()];
  })
  .filter(([, box]) => box.width > 1 && (box.width < 24 || box.height < 23.9))
  .map(([element, box]) => `${element.outerHTML.slice(0, 90)} ${Math.round(box.width)}x${Math.round(box.height)}`)
"""

FAINT = """
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const over = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const seen = new Map();
  const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const element = words.currentNode.parentElement;
    if (!words.currentNode.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (element.closest('.vh, script, [disabled]')) continue;
    const grounds = [];
    for (let outer = element; outer; outer = outer.parentElement) {
      grounds.unshift(getComputedStyle(outer).backgroundColor);
    }
    const style = getComputedStyle(element);
    const ground = light(over(['white', ...grounds]));
    const ink = light(over(['white', ...grounds, style.color]));
    const ratio = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
    if (ratio < 4.5) seen.set(`${element.tagName}.${element.className}`, ratio.toFixed(2));
  }
  return [...seen].map(([name, ratio]) => `${name} ${ratio}`);
}
"""
