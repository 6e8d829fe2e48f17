"""Who may open what: every route of the pages, every role (contract §7)."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from checkpoints.identifiers import uuid7
from checkpoints.models import Handoff
from reviewqueue.models import Role, User
from reviewqueue.pages import routes
from reviewqueue.services.drafting import begin
from tests.characters import approved, flagged, fresh, orchestrator, person
from tests.visiting import decide, detail_url, page_text, signed_in

pytestmark = pytest.mark.django_db

OPERATOR, SENIOR, MANAGER, ADMIN = Role.OPERATOR, Role.SENIOR_OPERATOR, Role.MANAGER, Role.ADMIN
SEES = {OPERATOR, SENIOR, MANAGER}
DECIDES = {OPERATOR, SENIOR}
ALL = set(Role)

# route -> (method, who is not refused)
TABLE: dict[str, tuple[str, set[Role]]] = {
    "home": ("GET", ALL),
    "find": ("GET", ALL),
    "settings": ("GET", ALL),
    "keys": ("GET", ALL),
    "help-keys": ("GET", ALL),
    "queue": ("GET", SEES),
    "handoffs": ("GET", SEES),
    "detail": ("GET", SEES),
    "node": ("GET", SEES),
    "seen": ("POST", SEES),
    "diff": ("GET", SEES),
    "raw": ("GET", SEES),
    "search": ("GET", SEES),
    "comment": ("POST", SEES),
    "comment-remove": ("POST", SEES),
    "session": ("GET", SEES),
    "refusals": ("GET", SEES),
    "ticket": ("GET", SEES),
    "audit": ("GET", SEES),
    "dashboard": ("GET", SEES),
    "policy": ("GET", ALL),
    "policy-version": ("GET", ALL),
    "policy-begin": ("POST", ALL),
    "policy-draft": ("GET", ALL),
    "policy-edit": ("GET", ALL),
    "policy-document": ("GET", ALL),
    "policy-catch-up": ("POST", ALL),
    "policy-discard": ("POST", ALL),
    "policy-publish": ("POST", {MANAGER}),
    "policy-simulate": ("POST", ALL),
    "policy-simulation": ("GET", ALL),
    "tokens": ("GET", {ADMIN}),
    "token-revoke": ("POST", {ADMIN}),
    "claim": ("POST", DECIDES),
    "release": ("POST", DECIDES),
    "decide": ("POST", DECIDES),
    "undo": ("POST", DECIDES),
    "pace-hide": ("POST", DECIDES),
    "step-up": ("POST", DECIDES),
    "reopen": ("POST", {SENIOR}),
    "edit": ("GET", DECIDES),
    "edit-check": ("POST", DECIDES),
    "bulk": ("POST", DECIDES),
    "views": ("GET", SEES),
    "view-remove": ("POST", SEES),
}
OPEN_TO_ALL = {"theme", "density"}


@pytest.fixture
def address(db: None) -> dict[str, str]:
    owner = orchestrator()
    handoff = approved(owner)
    return {
        "handoff_id": str(handoff.pk),
        "session_id": handoff.session.session_id,
        "reference": handoff.approval_ticket_reference,
        "token_id": str(uuid7()),
        "view_id": str(uuid7()),
        "draft_id": str(begin(author=person()).pk),
        "number": "1",
        "comment_id": str(uuid7()),
    }


def path_of(name: str, address: dict[str, str]) -> str:
    pattern = next(route for route in routes.urlpatterns if route.name == name)
    return "/" + re.sub(r"<\w+:(\w+)>", lambda part: address[part[1]], str(pattern.pattern))


def test_every_route_is_in_the_table():
    assert {route.name for route in routes.urlpatterns} == {*TABLE, *OPEN_TO_ALL}


@pytest.mark.parametrize("role", list(Role))
def test_a_route_opens_for_its_roles_and_tells_the_others_what_is_missing(address, role):
    client = signed_in(person(role))
    for name, (method, allowed) in TABLE.items():
        response = client.generic(method, path_of(name, address))
        refused = response.status_code == 403 and "takes the role" in page_text(response)
        assert refused is (role not in allowed), name
        if refused:
            assert f"You are signed in as {role.label.lower()}." in page_text(response), name
            assert "an admin can grant it" in page_text(response), name
        assert "HX-Request" in response["Vary"], name
        assert response["Cache-Control"] == "no-store, private", name


def test_nobody_comes_in_without_signing_in(address):
    for name, (method, _) in TABLE.items():
        response = Client().generic(method, path_of(name, address))
        assert response.status_code == 302, name
        assert response["Location"].startswith("/accounts/login/?next="), name


def test_an_account_that_was_closed_is_out_at_once(address):
    user = person(SENIOR)
    client = signed_in(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    for name, (method, _) in TABLE.items():
        assert client.generic(method, path_of(name, address)).status_code == 302, name


@pytest.mark.parametrize(
    ("role", "home"),
    [(OPERATOR, "/queue/"), (SENIOR, "/queue/"), (MANAGER, "/dashboard/"), (ADMIN, "/tokens/")],
)
def test_everybody_starts_where_their_work_is(db, role, home):
    response = signed_in(person(role)).get("/")
    assert (response.status_code, response["Location"]) == (302, home)


@pytest.mark.parametrize("role", [MANAGER, ADMIN])
def test_who_may_not_decide_changes_nothing(db, role):
    handoff = flagged(orchestrator())
    client = signed_in(person(role))
    for act in ("claim", "decide", "reopen", "undo", "edit"):
        fields = {
            "action": "approve",
            "content_digest": handoff.content_digest,
            "version": handoff.version,
            "reason": "x",
        }
        assert client.post(f"{detail_url(handoff)}{act}/", fields).status_code == 403
    assert Handoff.objects.get(pk=handoff.pk).version == handoff.version


def test_operators_see_their_own_entries_and_managers_all(db):
    alice, bob = person(name="alice"), person(name="bob")
    owner = orchestrator()
    first, second = flagged(owner, task_id="T-1"), flagged(owner, task_id="T-2")
    decide(signed_in(alice), first, "abort", reason=fresh("reason-of-alice"))
    decide(signed_in(bob), second, "abort", reason=fresh("reason-of-bob"))
    mine = page_text(signed_in(alice).get("/audit/"))
    assert "reason-of-alice" in mine
    assert "reason-of-bob" not in mine
    assert "Your decisions" in mine
    everything = page_text(signed_in(person(MANAGER)).get("/audit/", {"subject": f"handoff:{second.pk}"}))
    assert "reason-of-bob" in everything
    assert f"{owner.name} posted" in everything


def test_the_audit_trail_is_filtered_and_paged(db):
    owner = orchestrator()
    handoff = flagged(owner)
    alice = person(name="alice")
    decide(signed_in(alice), handoff, "abort", reason="Wrong customer")
    mona = signed_in(person(MANAGER))
    subject = f"handoff:{handoff.pk}"
    only = page_text(mona.get("/audit/", {"subject": subject, "action": "handoff.aborted"}))
    assert "Wrong customer" in only
    assert " posted " not in only
    by_name = page_text(mona.get("/audit/", {"subject": subject, "actor": alice.public_id}))
    assert "Wrong customer" in by_name
    assert "No entry" not in by_name
    early = page_text(mona.get("/audit/", {"subject": subject, "to": "2020-01-01"}))
    assert "Nothing matches these filters" in early
    assert mona.get("/audit/", {"from": "yesterday"}).status_code == 400
    assert mona.get("/audit/", {"user": "x"}).status_code == 400


def test_the_navigation_offers_only_what_opens(db):
    for role in Role:
        client = signed_in(person(role))
        body = client.get("/", follow=True).content.decode()
        navigation = body.split('aria-label="Main"')[1].split("</nav>")[0]
        links = [
            link for link in re.findall(r'<a href="([^"]+)"', navigation) if not link.startswith("/api/")
        ]
        assert links
        for link in links:
            assert client.get(link).status_code == 200, (role, link)
