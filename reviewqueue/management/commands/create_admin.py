"""The first account of an installation: an admin, who makes the others."""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from checkpoints.management.answering import Answer, AnsweringCommand, Failed
from checkpoints.types import COMMAND_LINE
from reviewqueue.models import Role
from reviewqueue.services.accounts import create_account


class Command(AnsweringCommand):
    help = (
        "Make an account with the role admin (or --role) and print its password, which is random unless "
        "--password-file names one (- is standard input). Exit codes: 0 made, 1 not made."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")
        parser.add_argument("--role", choices=Role.values, default=Role.ADMIN.value)
        parser.add_argument("--password-file", metavar="FILE", help="its first line is the password")

    def answer(self, options: dict[str, Any]) -> Answer:
        given = options["password_file"]
        password = _first_line(given) if given else secrets.token_urlsafe(15)
        user = create_account(
            username=options["username"], role=Role(options["role"]), password=password, actor=COMMAND_LINE
        )
        shown = None if given else password
        said = "with the password from the file" if given else f"password {password} (shown only now)"
        return Answer(
            f"Account {user.username}, role {user.role}, {said}.",
            {"username": user.username, "id": user.public_id, "role": str(user.role), "password": shown},
        )


def _first_line(file: str) -> str:
    try:
        text = sys.stdin.readline() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"The password file {file} cannot be read: {error}.") from error
    return text.partition("\n")[0].rstrip("\r")
