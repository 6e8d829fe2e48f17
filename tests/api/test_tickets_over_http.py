"""Tickets as their holders see them: one verdict, named problems, keys for everybody."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from checkpoints import signing
from checkpoints.models import AuditEntry, Ticket
from checkpoints.tickets import verify
from reviewqueue.services.deciding import decide, undo
from tests import characters
from tests.api.calling import Api, problem


@pytest.fixture
def api(db: None) -> Api:
    return Api()


def ticket(api: Api) -> Ticket:
    return Ticket.objects.get(handoff=characters.approved(api.owner))


def asked(api: Api, token: str, **more: Any) -> dict[str, Any]:
    response = api.post("/api/v1/tickets/verify", {"ticket": token, **more})
    assert response.status_code == 200, response.content
    found: dict[str, Any] = response.json()
    return found


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def test_a_fresh_ticket_holds_for_its_audience_and_content(api: Api) -> None:
    issued = ticket(api)
    found = asked(api, issued.token, audience="billing", content_digest=issued.content_digest)
    assert (found["valid"], found["problems"], found["state"]) == (True, [], "issued")
    assert found["claims"]["ref"] == issued.reference
    sent = api.verb(issued.handoff.checkpoint_id, "dispatch").json()
    found = asked(api, sent["approval_ticket"], content_digest=sent["content_digest"].removeprefix("sha256:"))
    assert (found["valid"], found["state"]) == (True, "redeemed")


def test_every_forgery_is_named_and_recorded(api: Api) -> None:
    issued = ticket(api)
    header, claims, signature = issued.token.split(".")
    genuine = json.loads(base64.urlsafe_b64decode(header + "=="))
    flipped = signature[:10] + ("A" if signature[10] != "A" else "B") + signature[11:]
    cases = {
        "ticket-malformed": [
            "",
            "x",
            "a.b",
            f"{issued.token}.x",
            f"{header}.{claims}.",
            f"=.{claims}.{signature}",
        ],
        "ticket-algorithm": [
            f"{part(genuine | {'alg': 'none'})}.{claims}.{signature}",
            f"{part(genuine | {'alg': 'HS256'})}.{claims}.{signature}",
            f"{part(genuine | {'jku': 'http://127.0.0.1/keys'})}.{claims}.{signature}",
            f"{part(genuine | {'jwk': {}})}.{claims}.{signature}",
        ],
        "ticket-type": [f"{part(genuine | {'typ': 'JWT'})}.{claims}.{signature}"],
        "ticket-key-unknown": [f"{part(genuine | {'kid': 'other'})}.{claims}.{signature}"],
        "ticket-signature": [
            f"{header}.{claims}.{flipped}",
            f"{header}.{part({'aud': 'billing', 'exp': 2**40})}.{signature}",
        ],
    }
    for name, texts in cases.items():
        for text in texts:
            found = asked(api, text)
            assert (found["valid"], found["claims"], found["state"]) == (False, None, "unknown")
            assert name in found["problems"], (name, text, found)
    recorded = AuditEntry.objects.filter(subject_id=api.owner.name, action="ticket.disproved").count()
    assert recorded == sum(len(texts) for name, texts in cases.items() if name != "ticket-malformed")


def test_wrong_use_of_a_genuine_ticket_is_named(api: Api) -> None:
    issued = ticket(api)
    found = asked(api, issued.token, audience="legal", content_digest="0" * 64)
    assert (found["valid"], set(found["problems"])) == (False, {"ticket-audience", "ticket-content-mismatch"})
    stranger = asked(Api(), issued.token)
    assert (stranger["valid"], stranger["problems"], stranger["state"]) == (
        False,
        ["ticket-unknown"],
        "unknown",
    )


@pytest.mark.parametrize("shift", [-2000, 2000])
def test_tickets_outside_their_time_are_named(api: Api, shift: int) -> None:
    issued = ticket(api)
    claims = verify(issued.token, jwks=signing.current().jwks(), now=int(issued.issued_at.timestamp())).claims
    assert claims is not None
    moved = claims | {name: int(str(claims[name])) + shift for name in ("iat", "nbf", "exp")}
    found = asked(api, signing.current().sign(moved))
    assert found["problems"] == (["ticket-expired"] if shift < 0 else ["ticket-not-yet-valid"])
    assert found["valid"] is False


def test_a_revoked_ticket_is_void(api: Api) -> None:
    handoff = characters.flagged(api.owner)
    reviewer = characters.person()
    decide(handoff_id=handoff.pk, reviewer=reviewer, form=characters.form(handoff))
    issued = Ticket.objects.get(handoff=handoff)
    undo(handoff_id=handoff.pk, reviewer=reviewer)
    found = asked(api, issued.token)
    assert (found["valid"], found["problems"], found["state"]) == (False, ["ticket-revoked"], "revoked")


def test_a_ticket_is_looked_up_by_its_reference_without_its_text(api: Api) -> None:
    issued = ticket(api)
    response = api.get(f"/api/v1/tickets/{issued.reference}")
    shown = response.json()
    assert set(shown) == {
        "reference", "state", "checkpoint_id", "revision", "content_digest", "audience", "issued_at", "expires_at",
        "redeemed_at", "approvers",
    }  # fmt: skip
    assert (shown["state"], shown["checkpoint_id"]) == ("issued", issued.handoff.checkpoint_id)
    assert issued.token not in response.content.decode()
    api.verb(issued.handoff.checkpoint_id, "dispatch")
    shown = api.get(f"/api/v1/tickets/{issued.reference}").json()
    assert (shown["state"], shown["redeemed_at"] is None) == ("redeemed", False)


def test_an_old_unused_ticket_reads_as_expired(api: Api) -> None:
    issued = ticket(api)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ticket SET expires_at = clock_timestamp() - interval '1 s' WHERE jti = %s", [issued.pk]
        )
    assert api.get(f"/api/v1/tickets/{issued.reference}").json()["state"] == "expired"


@pytest.mark.parametrize("reference", ["APR-2026-999999", "x", "%00", "APR-2026-1%27"])
def test_an_unknown_reference_is_not_found(api: Api, reference: str) -> None:
    problem(api.get(f"/api/v1/tickets/{reference}"), 404, "not-found")


def test_anybody_may_fetch_the_keys_and_only_the_public_part(db: None) -> None:
    response = Client().get("/.well-known/jwks.json")
    assert (response.status_code, response.headers["Cache-Control"]) == (200, "public, max-age=300")
    (key,) = response.json()["keys"]
    assert (key["kty"], key["crv"]) == ("OKP", "Ed25519")
    assert "d" not in key


def test_without_a_signer_nothing_is_guessed(api: Api) -> None:
    issued = ticket(api)
    signer = signing.current()
    signing.install(None)
    try:
        for response in (
            Client().get("/.well-known/jwks.json"),
            api.post("/api/v1/tickets/verify", {"ticket": issued.token}),
            api.verb(issued.handoff.checkpoint_id, "dispatch"),
        ):
            problem(response, 503, "signer-unavailable")
            assert response.headers["Retry-After"] == "30"
    finally:
        signing.install(signer)
    assert api.handoff(issued.handoff.checkpoint_id)["state"] == "approved"
    assert api.verb(issued.handoff.checkpoint_id, "dispatch").status_code == 200
