"""Acting as the sealer: its role of the database, a key of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checkpoints.transparency import HeadKey
from tests.servers import Servers

KEY = HeadKey("tests/audit", Ed25519PrivateKey.generate())


@contextmanager
def as_role(servers: Servers, role: str) -> Iterator[None]:
    """This thread's connection belongs to another role meanwhile."""
    from django.db import connection

    before = connection.settings_dict
    connection.close()
    # A copy: threads share the original.
    connection.settings_dict = {**before, "USER": f"reviewqueue_{role}", "PASSWORD": servers.passwords[role]}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = before


def seal_everything(servers: Servers, *, patience: float = 30.0) -> int:
    """Seal until every committed entry has its place; gives the size of the tree.

    A transaction of another test beside this one holds the horizon back: it is waited for, at most `patience`
    seconds. 0 seals once what is complete now.
    """
    from checkpoints.services import sealing

    ends = time.monotonic() + patience
    with as_role(servers, "sealer"):
        while (
            (found := sealing.seal(key=KEY)) is None
            or found.more
            or (sealing.unsealed_seconds() > 0 and time.monotonic() < ends)
        ):
            time.sleep(0.01)
    return found.size
