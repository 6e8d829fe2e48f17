"""Make an API token for an orchestrator."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from checkpoints.management.answering import Answer, AnsweringCommand
from checkpoints.models import Scope
from checkpoints.services import tokens
from checkpoints.types import COMMAND_LINE


class Command(AnsweringCommand):
    help = (
        "Make an API token for an orchestrator, and the orchestrator where there is none of this name. Without "
        "--scope the token has all scopes. The text is shown once and never again. Exit codes: 0 made, 1 not made."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--orchestrator", required=True, metavar="NAME", help="who will use the token")
        parser.add_argument(
            "--scope",
            action="append",
            default=[],
            metavar="SCOPE",
            help=f"may be repeated: {', '.join(Scope.values)}",
        )
        parser.add_argument(
            "--days",
            type=int,
            default=tokens.DEFAULT_DAYS,
            metavar="N",
            help="days until it expires (default: %(default)s)",
        )
        parser.add_argument("--label", default="", help="a note that lists show beside it")

    def answer(self, options: dict[str, Any]) -> Answer:
        text, token = tokens.create_token(
            orchestrator_name=options["orchestrator"],
            scopes=options["scope"],
            label=options["label"],
            days=options["days"],
            actor=COMMAND_LINE,
        )
        name = token.orchestrator.name
        return Answer(
            f"Token of {name}, valid until {token.expires_at:%Y-%m-%d}, shown only this once:\n{text}",
            {"token": text, "orchestrator": name, "scopes": list(token.scopes)},
        )
