"""Making a signing key. Only the minting service ever reads one."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from joserfc.jwk import OKPKey


def create_key(*, path: Path) -> bool:
    """Write a new private key of mode 0600; False where one stands already. It is never overwritten.

    A reader sees the whole key or none: the file gets its name when it is complete.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(OKPKey.generate_key("Ed25519").as_pem(private=True))
        path.hardlink_to(draft)
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True
