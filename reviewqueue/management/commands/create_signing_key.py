"""The private key that signs approval tickets."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from checkpoints import signing
from checkpoints.management.answering import Answer, AnsweringCommand, Failed
from reviewqueue.services.keys import create_key


class Command(AnsweringCommand):
    help = (
        "Write a new Ed25519 key to TICKET_KEY_FILE, readable by its owner only. A key that stands there is never "
        "overwritten. Exit codes: 0 a key stands there, 1 it could not be written or read."
    )

    def answer(self, options: dict[str, Any]) -> Answer:
        path = settings.TICKET_KEY_FILE
        try:
            created = create_key(path=path)
            keys: Any = signing.current().jwks()["keys"]
        except (OSError, ValueError) as error:
            raise Failed(f"The signing key {path} cannot be used: {error}.") from error
        kid = str(keys[0]["kid"])
        said = "Created" if created else "Already there:"
        return Answer(
            f"{said} {path}, key id {kid}.",
            {"path": str(path), "created": created, "kid": kid},
        )
