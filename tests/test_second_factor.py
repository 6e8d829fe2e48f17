"""Where a second factor is required, high risk is approved with one and refused without."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from checkpoints.errors import NotAllowed
from checkpoints.models import Handoff
from reviewqueue.models import Role, User
from reviewqueue.services.deciding import DecisionForm, decide
from tests import characters

# The templates of allauth read variables that are not always there.
pytestmark = pytest.mark.ignore_template_errors
PASSWORD = "correct horse battery"


def code(secret: str) -> str:
    """What an authenticator shows now (RFC 6238), by allauth's own arithmetic."""
    from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value

    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30)))


def signed_in(user: User) -> Client:
    client = Client()
    client.post("/accounts/login/", {"login": user.username, "password": PASSWORD})
    return client


def enrol(user: User) -> str:
    """Add an authenticator on the page for it, as a person would. Gives its secret."""
    client, page = signed_in(user), "/accounts/2fa/totp/activate/"
    asked = client.get(page)
    if asked.status_code == 302:  # the password once more
        client.post(asked.headers["Location"], {"password": PASSWORD})
    assert client.get(page).status_code == 200
    secret = str(client.session["mfa.totp.secret"])  # the page shows it as text and as a picture
    assert client.post(page, {"code": code(secret)}).status_code == 302
    return secret


def high_risk() -> Handoff:
    return characters.judged(
        characters.orchestrator(), characters.document(risk_level="high", human_approval_required=True)
    )


def approve(handoff: Handoff, reviewer: User) -> None:
    form = DecisionForm("approve", handoff.content_digest, handoff.version, reason="Looked at it")
    decide(handoff_id=handoff.pk, reviewer=reviewer, form=form)


def test_high_risk_is_refused_to_a_person_without_a_second_factor(db: None, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    with pytest.raises(NotAllowed) as refused:
        approve(high_risk(), characters.person(Role.SENIOR_OPERATOR))
    assert refused.value.slug == "step-up-required"


def test_a_person_who_added_one_may_approve_high_risk(db: None, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    person = characters.person(Role.SENIOR_OPERATOR)
    enrol(person)
    handoff = high_risk()
    approve(handoff, person)
    assert Handoff.objects.get(pk=handoff.pk).approvals_given == 1


def test_signing_in_asks_for_the_factor_once_there_is_one(db: None) -> None:
    person = characters.person()
    secret = enrol(person)
    cache.clear()  # a code counts once; the one that enrolled may still be the current one
    client = signed_in(person)
    assert client.get("/queue/").status_code == 302  # the password alone does not open it
    client.post("/accounts/2fa/authenticate/", {"code": "000000"})
    assert client.get("/queue/").status_code == 302
    client.post("/accounts/2fa/authenticate/", {"code": code(secret)})
    assert client.get("/queue/").status_code == 200


def stale(client: Client) -> None:
    """As if the factor of this session had been used an hour ago."""
    session = client.session
    for record in session["account_authentication_methods"]:
        record["at"] -= 3600
    session.save()


def with_factor(user: User) -> tuple[Client, str]:
    secret = enrol(user)
    cache.clear()
    client = signed_in(user)
    client.post("/accounts/2fa/authenticate/", {"code": code(secret)})
    cache.clear()
    return client, secret


def test_a_factor_that_was_used_long_ago_is_asked_for_and_nothing_is_lost(db: None, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    alice = characters.person(Role.SENIOR_OPERATOR)
    client, secret = with_factor(alice)
    handoff = high_risk()
    stale(client)
    page = f"/handoffs/{handoff.pk}/?list=view%3Drisk"
    fields = {
        "content_digest": handoff.content_digest, "version": str(handoff.version), "reason": "I asked the customer",
        "list": "view=risk",
    }  # fmt: skip
    refused = client.post(f"/handoffs/{handoff.pk}/decide/", {"action": "approve", **fields})
    assert refused.status_code == 403
    assert "I asked the customer" in refused.content.decode()
    assert "data-step-up" in refused.content.decode()
    away = client.post(f"/handoffs/{handoff.pk}/step-up/", fields)
    assert away.status_code == 303
    assert "nothing is decided yet" in client.get(away["Location"]).content.decode().lower()
    back = client.post(away["Location"], {"code": code(secret)})
    assert back["Location"] == f"{page}#decision"
    shown = client.get(page).content.decode()
    assert "data-resumed" in shown and "I asked the customer" in shown
    assert f'value="{handoff.content_digest}"' in shown
    assert Handoff.objects.get(pk=handoff.pk).approvals_given == 0
    assert client.post(f"/handoffs/{handoff.pk}/decide/", {"action": "approve", **fields}).status_code == 303
    assert Handoff.objects.get(pk=handoff.pk).approvals_given == 1
    assert "kept_decision" not in client.session


def test_what_was_kept_for_other_content_fills_in_the_words_and_no_answer(db: None, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    client, _ = with_factor(characters.person(Role.SENIOR_OPERATOR))
    handoff, other = high_risk(), high_risk()
    client.post(
        f"/handoffs/{handoff.pk}/step-up/",
        {
            "content_digest": "sha256:" + "0" * 64, "version": "1", "reason": "Written before", "unopened": "1",
            "target": "fallback",
        },
    )  # fmt: skip
    shown = client.get(f"/handoffs/{handoff.pk}/").content.decode()
    assert "Written before" in shown and "changed in the meantime" in shown
    assert "data-resumed" not in shown
    assert f'value="{handoff.content_digest}"' in shown, "the form is made for what is on the screen"
    assert "Written before" not in client.get(f"/handoffs/{other.pk}/").content.decode()


def test_a_person_without_a_factor_is_led_to_adding_one(db: None, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    client = signed_in(characters.person(Role.SENIOR_OPERATOR))
    handoff = high_risk()
    fields = {"content_digest": handoff.content_digest, "version": str(handoff.version), "reason": "Checked"}
    refused = client.post(f"/handoffs/{handoff.pk}/decide/", {"action": "approve", **fields})
    assert (refused.status_code, "Add a second factor" in refused.content.decode()) == (403, True)
    away = client.post(f"/handoffs/{handoff.pk}/step-up/", fields)
    assert away["Location"].startswith("/accounts/2fa/totp/activate/?next=")
    assert "Checked" in client.get(f"/handoffs/{handoff.pk}/").content.decode()


def test_more_text_than_a_session_holds_is_refused_and_shown_again(db: None) -> None:
    client, handoff = signed_in(characters.person()), high_risk()
    answers = {f"answer:{place}": "x" * 9000 for place in range(30)}
    response = client.post(f"/handoffs/{handoff.pk}/step-up/", {"reason": "Long", **answers})
    assert response.status_code == 422
    assert "too much text to keep" in response.content.decode() and "Long" in response.content.decode()
    assert "kept_decision" not in client.session


def test_other_risks_need_no_second_factor(db: None, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    handoff = characters.judged(characters.orchestrator(), characters.document(human_approval_required=True))
    approve(handoff, characters.person())
    assert Handoff.objects.get(pk=handoff.pk).state == "approved"
