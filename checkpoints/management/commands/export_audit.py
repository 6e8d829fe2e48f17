"""Audit entries as a file that verifies without this installation."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import CommandParser

from checkpoints.management.answering import Answer, AnsweringCommand, Failed
from checkpoints.services.audit_export import bundle


class Command(AnsweringCommand):
    help = (
        "Write audit entries, oldest first, as JSON lines with a signed head and the path of each entry to it. "
        "`python -m checkpoints.verify audit FILE --key KEY` judges the file offline. Exit codes: 0 written, 1 not."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "file", metavar="FILE", help="where to write; it must not exist yet. - for standard output"
        )
        parser.add_argument("--subject", metavar="KIND:ID", help="one subject only, such as handoff:0199…")
        parser.add_argument(
            "--from", dest="start", metavar="TIME", help="at this time or later, such as 2026-11-30"
        )
        parser.add_argument("--to", dest="end", metavar="TIME", help="before this time")

    def answer(self, options: dict[str, Any]) -> Answer:
        lines = bundle(
            subject=_subject(options["subject"]),
            start=_time("--from", options["start"]),
            end=_time("--to", options["end"]),
        )
        name = options["file"]
        if name == "-":
            _write(lines, sys.stdout)
            return Answer("", {})
        try:
            with Path(name).open("x", encoding="utf-8") as file:
                count = _write(lines, file)
        except OSError as error:
            raise Failed(
                f"{name} cannot be written: {error.strerror}. Name a new file in a folder of yours."
            ) from error
        return Answer(f"{count} entries written to {name}.", {"entries": count, "file": name})


def _write(lines: Any, file: TextIO) -> int:
    count = -1  # the first line is the head
    for line in lines:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
        count += 1
    return count


def _subject(text: str | None) -> tuple[str, str] | None:
    if text is None:
        return None
    kind, colon, identifier = text.partition(":")
    if not colon or not kind or not identifier:
        raise Failed(f"--subject is {text!r}. Name it as kind:id, such as handoff:0199….")
    return kind, identifier


def _time(option: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Failed(
            f"{option} is {text!r}. Write a day such as 2026-11-30, or a time with its zone."
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
