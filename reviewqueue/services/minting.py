"""Minting approval tickets: the only module that reads the private key and creates a ticket row."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

import orjson
from django.conf import settings
from django.db import connection
from joserfc import jws
from joserfc.jwk import OKPKey

from checkpoints import signing
from checkpoints.identifiers import uuid7
from checkpoints.models import Decision, Handoff, Ticket
from checkpoints.services import audit
from checkpoints.services.revocation import revoke
from checkpoints.tickets import TICKET_TYPE
from checkpoints.tickets.claims import ALGORITHM
from checkpoints.types import Actor, CheckPolicy, JSONObject, JSONValue, rfc3339


class KeyFileSigner:
    """Signs with the Ed25519 key in a PEM file of mode 0600. Retired public keys stand beside it as `*.pub.pem`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _key(self) -> OKPKey:
        try:
            mode = self.path.stat().st_mode & 0o777
        except FileNotFoundError:
            raise signing.no_key() from None
        if mode & 0o077:
            raise PermissionError(
                f"{self.path} has mode {mode:o}; only its owner may read a signing key (0600)"
            )
        return OKPKey.import_key(self.path.read_bytes())

    def sign(self, claims: JSONObject) -> str:
        """A compact JWS; `kid` is the RFC 7638 thumbprint."""
        header = {"alg": ALGORITHM, "typ": TICKET_TYPE, "kid": self._key.thumbprint()}
        return jws.serialize_compact(header, orjson.dumps(claims), self._key, algorithms=[ALGORITHM])

    def jwks(self) -> JSONObject:
        keys = [self._key]
        keys += [OKPKey.import_key(path.read_bytes()) for path in sorted(self.path.parent.glob("*.pub.pem"))]
        return {"keys": [_public(key) for key in keys]}


def _public(key: OKPKey) -> JSONObject:
    members = key.as_dict(private=False)
    return {
        "kty": "OKP",
        "crv": str(members["crv"]),
        "x": str(members["x"]),
        "kid": key.thumbprint(),
        "alg": ALGORITHM,
        "use": "sig",
    }


def install_signer() -> None:
    """Give this process the key file's signer. The key is read when it is first needed: it may come later."""
    signing.install(KeyFileSigner(settings.TICKET_KEY_FILE))


def mint(
    *,
    handoff: Handoff,
    approvals: Sequence[Decision],
    policy: CheckPolicy,
    policy_version: int,
    actor: Actor,
    at: datetime,
) -> Ticket:
    """The ticket for a locked handoff whose last needed approval is in this transaction."""
    signer = signing.current()
    revoke(handoff=handoff, actor=actor, at=at, reason="A newer approval replaces it.")
    jti, reference = uuid7(), _reference(at)
    expires_at = at + timedelta(seconds=policy.approval_valid_seconds)
    attempt = handoff.last_attempt + 1
    approvers: list[JSONValue] = [
        {"id": item.actor_id, "role": item.role, "at": rfc3339(item.at)} for item in approvals
    ]
    audience = handoff.target_role or handoff.orchestrator.name
    claims: JSONObject = {
        "iss": settings.PUBLIC_URL,
        "aud": audience,
        "sub": handoff.checkpoint_id,
        "jti": str(jti),
        "iat": int(at.timestamp()),
        "nbf": int(at.timestamp()),
        "exp": int(at.timestamp()) + policy.approval_valid_seconds,
        "ref": reference,
        "session_id": handoff.session.session_id,
        "seq": handoff.handoff_sequence,
        "revision": handoff.revision,
        "content_digest": handoff.content_digest,
        "policy_version": policy_version,
        "attempt": attempt,
        "approvers": [*approvers],
    }
    ticket = Ticket.objects.create(
        jti=jti,
        reference=reference,
        orchestrator_id=handoff.orchestrator_id,
        handoff=handoff,
        revision=handoff.revision,
        content_digest=handoff.content_digest,
        audience=audience,
        policy_version=policy_version,
        approvers=approvers,
        decided_at=at,
        issued_at=at,
        expires_at=expires_at,
        attempt=attempt,
        token=signer.sign(claims),
    )
    audit.record(
        audit.Entry(
            action="ticket.issued",
            actor=actor,
            subject=("handoff", str(handoff.pk)),
            at=at,
            after={
                "reference": reference,
                "jti": str(jti),
                "revision": handoff.revision,
                "content_digest": handoff.content_digest,
                "expires_at": rfc3339(expires_at),
            },
            policy_version=policy_version,
        )
    )
    return ticket


def _reference(at: datetime) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval('ticket_reference')")
        (number,) = cursor.fetchone()
    return f"APR-{at.year}-{number:06d}"
