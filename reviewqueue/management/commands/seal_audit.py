"""The sealer: gives audit entries their places in the tree and signs its heads."""

from __future__ import annotations

import signal
import threading
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import DatabaseError, connection

from checkpoints.management.answering import Answer, AnsweringCommand, Failed
from reviewqueue.services.sealer import Sealer, open_key


class Command(AnsweringCommand):
    help = (
        "Seal the audit trail: number its entries, sign the tree's head with AUDIT_KEY_FILE (made where there is "
        "none) and append it to AUDIT_HEADS_FILE. Run it as the sealer: DATABASE_ROLE=sealer. Once, or with --watch "
        "until it is told to stop. Exit codes: 0 sealed, or stopped as told; 1 not sealed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--watch", action="store_true", help="go on until SIGTERM or Ctrl-C")

    def answer(self, options: dict[str, Any]) -> Answer:
        try:
            key = open_key(settings.AUDIT_KEY_FILE)
        except (OSError, ValueError) as error:
            raise Failed(f"The sealer's key {settings.AUDIT_KEY_FILE} cannot be used: {error}.") from error
        sealer = Sealer(key, settings.AUDIT_HEADS_FILE)
        try:
            if options["watch"]:
                sealer.watch(_stop_event())
                return Answer("Stopped.", {"stopped": True})
            found = sealer.once()
        except OSError as error:
            raise Failed(f"The heads file {settings.AUDIT_HEADS_FILE} cannot be written: {error}.") from error
        except DatabaseError as error:
            connection.close()
            raise Failed(f"The audit trail cannot be sealed now: {str(error).strip()}") from error
        if found is None:
            raise Failed("Another sealer is at work. One is enough.")
        return Answer(
            f"{found.entries} entries sealed; the tree has {found.size} leaves. Verifier key: {key.verifier.text}",
            {"entries": found.entries, "size": found.size, "verifier_key": key.verifier.text},
        )


def _stop_event() -> threading.Event:
    event = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: event.set())
    return event
