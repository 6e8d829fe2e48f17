"""Offline verification of an approval ticket against a JWKS. No clock, no network, no database."""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey

from checkpoints.tickets.claims import ALGORITHM, TICKET_TYPE
from checkpoints.types import JSONObject

REFUSED_HEADERS = frozenset({"jku", "jwk", "x5u", "x5c", "crit", "b64"})
MAX_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Verification:
    """`problems` are slugs (`ticket-signature` …); `claims` are trusted only when `problems` is empty."""

    problems: tuple[str, ...]
    claims: JSONObject | None

    @property
    def valid(self) -> bool:
        return not self.problems


def verify(
    token: str,
    *,
    jwks: JSONObject,
    now: int,
    audience: str | None = None,
    content_digest: str | None = None,
) -> Verification:
    """Judge a compact JWS at `now` (Unix seconds). Signature first: claims of a forged ticket are not judged."""
    header = _header(token)
    if header is None:
        return Verification(("ticket-malformed",), None)
    key = _key(jwks, header.get("kid"))
    problems = _header_problems(header, key is not None)
    if problems or key is None:
        return Verification(tuple(problems), None)
    try:
        payload = jws.deserialize_compact(token, key, algorithms=[ALGORITHM]).payload
    except (JoseError, ValueError, TypeError):
        return Verification(("ticket-signature",), None)
    claims = _object(payload)
    if claims is None or not all(isinstance(claims.get(name), int) for name in ("iat", "nbf", "exp")):
        return Verification(("ticket-malformed",), None)
    return Verification(tuple(_claim_problems(claims, now, audience, content_digest)), claims)


def _header(token: str) -> JSONObject | None:
    """The protected header, or None where this is no compact JWS of three canonical base64url parts."""
    parts = token.split(".")
    if len(parts) != 3 or len(token) > MAX_BYTES or not token.isascii() or not all(parts):
        return None
    decoded = [_decode(part) for part in parts]
    return None if any(part is None for part in decoded) else _object(decoded[0] or b"")


def _decode(part: str) -> bytes | None:
    try:
        data = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return None
    # Unused bits and foreign characters would make two texts of one ticket.
    return data if urlsafe_b64encode(data).rstrip(b"=").decode() == part else None


def _object(data: bytes) -> JSONObject | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _key(jwks: JSONObject, kid: object) -> OKPKey | None:
    keys = jwks.get("keys")
    for key in keys if isinstance(keys, list) else []:
        if isinstance(key, dict) and key.get("kid") == kid and key.get("kty") == "OKP":
            return OKPKey.import_key({name: str(key[name]) for name in ("kty", "crv", "x")})
    return None


def _header_problems(header: JSONObject, known_key: bool) -> list[str]:
    problems = []
    if header.get("alg") != ALGORITHM or REFUSED_HEADERS & header.keys():
        problems.append("ticket-algorithm")
    if header.get("typ") != TICKET_TYPE:
        problems.append("ticket-type")
    if not known_key:
        problems.append("ticket-key-unknown")
    return problems


def _claim_problems(
    claims: JSONObject, now: int, audience: str | None, content_digest: str | None
) -> list[str]:
    problems = []
    if now >= int(str(claims["exp"])):
        problems.append("ticket-expired")
    if now < int(str(claims["nbf"])):
        problems.append("ticket-not-yet-valid")
    if audience is not None and claims.get("aud") != audience:
        problems.append("ticket-audience")
    if content_digest is not None and claims.get("content_digest") != content_digest:
        problems.append("ticket-content-mismatch")
    return problems
