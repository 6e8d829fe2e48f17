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


def test_other_risks_need_no_second_factor(db: None, settings: Any) -> None:
    settings.REQUIRE_SECOND_FACTOR = True
    handoff = characters.judged(characters.orchestrator(), characters.document(human_approval_required=True))
    approve(handoff, characters.person())
    assert Handoff.objects.get(pk=handoff.pk).state == "approved"
