"""Who signs tickets. The machine half knows only this protocol; the human half installs the key holder."""

from __future__ import annotations

from typing import Protocol

from checkpoints.errors import Unavailable
from checkpoints.types import JSONObject


class Signer(Protocol):
    """Holds a private key. `sign` returns a compact JWS; `jwks` the public keys that ever signed (RFC 7517)."""

    def sign(self, claims: JSONObject) -> str: ...

    def jwks(self) -> JSONObject: ...


_installed: Signer | None = None


def install(signer: Signer | None) -> None:
    """Make `signer` the one of this process; None removes it."""
    global _installed  # noqa: PLW0603 - CONFIG: one signer per process
    _installed = signer


def current() -> Signer:
    """The installed signer. Raises Unavailable (503 `signer-unavailable`) where there is none."""
    if _installed is None:
        raise no_key()
    return _installed


def no_key() -> Unavailable:
    """What a caller is told while nothing can be signed."""
    return Unavailable(
        "No signing key is installed, so approved handoffs cannot go out. Nothing is lost: "
        "ask the administrator to run `manage.py create_signing_key`, then repeat the request.",
        slug="signer-unavailable",
        retry_after=30,
    )
