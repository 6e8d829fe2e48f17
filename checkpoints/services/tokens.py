"""API tokens: made once, stored as a digest, looked up by prefix, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import string
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from checkpoints.errors import InvalidInput, NotFound, Unauthenticated
from checkpoints.models import ApiToken, Orchestrator, Scope
from checkpoints.services import audit
from checkpoints.services.clock import now
from checkpoints.types import Actor, rfc3339

BASE62: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
PREFIX_LENGTH: Final = 8
SECRET_LENGTH: Final = 37
CHECKSUM_LENGTH: Final = 6
DEFAULT_DAYS: Final = 90

LOOK_UP = """
    SELECT t.id, t.digest, t.scopes, o.id, o.name,
        t.revoked_at IS NULL AND t.expires_at > clock_timestamp(),
        t.last_used_at IS NULL OR t.last_used_at < clock_timestamp() - interval '1 minute'
    FROM api_token t JOIN orchestrator o ON o.id = t.orchestrator_id WHERE t.prefix = %s
"""
# Whoever comes second in the same minute does not wait for the first.
TOUCH = """
    UPDATE api_token SET last_used_at = clock_timestamp()
    WHERE id IN (SELECT id FROM api_token WHERE id = %s FOR UPDATE SKIP LOCKED)
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """The orchestrator that a valid token stands for, and what the token may do."""

    orchestrator: Orchestrator
    scopes: frozenset[str]
    token_id: UUID


def create_token(
    *,
    orchestrator_name: str,
    scopes: Collection[str] = (),
    label: str = "",
    days: int = DEFAULT_DAYS,
    actor: Actor,
) -> tuple[str, ApiToken]:
    """A new token for an orchestrator, made where there is none of this name. No scope means all.

    Returns the text, which is shown once and never stored, and the row. Raises InvalidInput.
    """
    _refuse_unusable(orchestrator_name, scopes, days)
    wanted = [scope.value for scope in Scope if not scopes or scope.value in scopes]
    text = _new_text()
    with transaction.atomic(durable=True):
        orchestrator, _ = Orchestrator.objects.get_or_create(name=orchestrator_name)
        at = now()
        token = ApiToken.objects.create(
            orchestrator=orchestrator,
            label=label,
            prefix=text.split("_")[1],
            digest=_digest(text),
            scopes=wanted,
            expires_at=at + timedelta(days=days),
        )
        audit.record(
            audit.Entry(
                action="token.created",
                actor=actor,
                subject=("orchestrator", orchestrator.name),
                at=at,
                after={
                    "token": str(token),
                    "label": label,
                    "scopes": list(wanted),
                    "expires_at": rfc3339(token.expires_at),
                },
            )
        )
    return text, token


def revoke(*, token_id: UUID, actor: Actor) -> None:
    """Make a token void from the next request on. Repeats change nothing. Raises NotFound."""
    with transaction.atomic(durable=True):
        token = ApiToken.objects.select_for_update().filter(pk=token_id).first()
        if token is None:
            raise NotFound("There is no such token.")
        if token.revoked_at is not None:
            return
        at = now()
        token.revoked_at = at
        token.save(update_fields=["revoked_at"])
        audit.record(
            audit.Entry(
                action="token.revoked",
                actor=actor,
                subject=("orchestrator", token.orchestrator.name),
                at=at,
                after={"token": str(token), "label": token.label},
            )
        )


def authenticate(*, text: str) -> Caller:
    """Who presents this token. Raises Unauthenticated, the same for every reason."""
    if not _well_formed(text):
        raise _unknown()
    with connection.cursor() as cursor:
        cursor.execute(LOOK_UP, [text[3 : 3 + PREFIX_LENGTH]])
        row = cursor.fetchone()
        stored = bytes(row[1]) if row else b"\0" * 32  # an unknown prefix is compared too
        if not hmac.compare_digest(_digest(text), stored) or row is None or not row[5]:
            raise _unknown()
        token_id, _, scopes, orchestrator_id, name, _, is_stale = row
        if is_stale:
            cursor.execute(TOUCH, [token_id])
    return Caller(Orchestrator(id=orchestrator_id, name=name), frozenset(scopes), token_id)


def _unknown() -> Unauthenticated:
    return Unauthenticated(
        "The token is missing, malformed, unknown, expired or revoked. "
        "Send one header `Authorization: Bearer rq_…` with a valid token."
    )


def _refuse_unusable(name: str, scopes: Collection[str], days: int) -> None:
    if not 1 <= len(name) <= 200 or not name.isprintable() or not name.strip():
        raise InvalidInput("An orchestrator's name has 1 to 200 printable characters.")
    unknown = sorted(set(scopes) - set(Scope.values))
    if unknown:
        raise InvalidInput(f"Unknown scope {', '.join(unknown)}. Use {', '.join(Scope.values)}.")
    if not 1 <= days <= 3650:
        raise InvalidInput(f"A token is valid for 1 to 3650 days, not {days}.")


def _new_text() -> str:
    prefix = "".join(secrets.choice(BASE62) for _ in range(PREFIX_LENGTH))
    secret = "".join(secrets.choice(BASE62) for _ in range(SECRET_LENGTH))
    start = f"rq_{prefix}_{secret}"
    return start + _checksum(start)


def _checksum(start: str) -> str:
    """CRC32 in base62, six digits: scanners and typing errors are told apart without a look-up."""
    number = zlib.crc32(start.encode())
    digits = []
    for _ in range(CHECKSUM_LENGTH):
        number, rest = divmod(number, 62)
        digits.append(BASE62[rest])
    return "".join(reversed(digits))


def _well_formed(text: str) -> bool:
    parts = text.split("_")
    if len(parts) != 3 or parts[0] != "rq" or len(parts[1]) != PREFIX_LENGTH:
        return False
    if len(parts[2]) != SECRET_LENGTH + CHECKSUM_LENGTH or not text.isascii():
        return False
    if not (parts[1] + parts[2]).isalnum():
        return False
    return _checksum(text[:-CHECKSUM_LENGTH]) == text[-CHECKSUM_LENGTH:]


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
