"""Making a signing key. Only the minting service ever reads one."""

from __future__ import annotations

import os
from pathlib import Path

from joserfc.jwk import OKPKey


def create_key(*, path: Path) -> bool:
    """Write a new private key of mode 0600; False where one stands already. It is never overwritten."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(OKPKey.generate_key("Ed25519").as_pem(private=True))
    return True
