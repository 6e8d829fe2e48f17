"""Judge checkpoint files with the installation's policy, without storing anything."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from checkpoints.cli.__main__ import lines
from checkpoints.cli.checking import Unusable, as_json, check_bodies, read_policy, token_counter
from checkpoints.management.answering import Answer, AnsweringCommand, Failed
from checkpoints.services.policy import active
from checkpoints.types import CheckPolicy, JSONValue


class Command(AnsweringCommand):
    help = (
        "Judge checkpoint files as the server would, without storing anything. Files are judged in order, each as "
        "history of the later ones of its session. Exit codes: 0 every file cleared, 1 one was flagged or rejected, "
        "2 a file or the policy is unusable."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("files", nargs="+", metavar="FILE", help="a checkpoint as JSON")
        parser.add_argument(
            "--policy", type=Path, metavar="FILE", help="a policy instead of the one in force"
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        try:
            results = list(
                check_bodies(
                    ((name, Path(name).read_bytes()) for name in options["files"]),
                    policy=self._policy(options["policy"]),
                    received_at=datetime.now(UTC),
                    count_tokens=token_counter(),
                )
            )
        except (Unusable, OSError) as error:
            raise Failed(str(error), code=2) from error
        code = 0
        if not all(result.is_usable for result in results):
            code = 2
        elif not all(result.is_clear for result in results):
            code = 1
        shown: list[JSONValue] = [as_json(result) for result in results]
        return Answer("\n".join(lines(results)), {"results": shown}, code)

    def _policy(self, path: Path | None) -> CheckPolicy:
        return read_policy(path) if path else active().compiled
