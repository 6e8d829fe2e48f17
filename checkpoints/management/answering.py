"""What all our commands share: `--json`, one answer, exit codes.

Exit codes: 0 done, 1 not done (the text says why), 2 wrong use, or what the command's help says it found.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandParser

from checkpoints.errors import ReviewQueueError
from checkpoints.types import JSONObject, JSONValue

NOT_DONE = 1


class Failed(Exception):
    """The command could not do its work; the text is for the person, `code` for the shell."""

    def __init__(self, text: str, *, code: int = NOT_DONE, data: JSONObject | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data or {}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found: `text` for people, `data` for `--json`, `code` for the shell."""

    text: str
    data: JSONObject = field(default_factory=dict)
    code: int = 0


class AnsweringCommand(BaseCommand):
    """A command whose `answer` returns an Answer or raises Failed or one of our errors."""

    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")

    def answer(self, options: dict[str, Any]) -> Answer:
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            answer = self.answer(options)
        except Failed as failed:
            self._fail(str(failed), failed.code, failed.data, as_json=options["json"])
        except ReviewQueueError as error:
            details: list[JSONValue] = [
                {"pointer": item.pointer, "code": item.code, "detail": item.detail} for item in error.errors
            ]
            more = [item for item in error.errors if item.detail != error.detail]
            text = "\n".join([error.detail, *(f"  {item.pointer or '/'}: {item.detail}" for item in more)])
            data: JSONObject = {"code": error.slug, "errors": details}
            self._fail(text, NOT_DONE, data, as_json=options["json"])
        else:
            self.stdout.write(json.dumps(answer.data) if options["json"] else answer.text)
            if answer.code:
                sys.exit(answer.code)

    def _fail(self, text: str, code: int, data: JSONObject, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"error": text, **data}))
        else:
            self.stderr.write(text)
        sys.exit(code)


def with_progress[T](
    items: Iterable[T], *, total: Callable[[], int], label: str, stream: TextIO | None = None
) -> Iterator[T]:
    """The items, with a bar on a terminal and nothing elsewhere; `total` is asked only for the bar."""
    bar = Bar(label, stream)
    if not bar.shown:
        yield from items
        return
    expected = max(1, total())
    step = max(1, expected // 100)
    for count, item in enumerate(items, start=1):
        if count % step == 0 or count == expected:
            bar(count, expected)
        yield item
    bar.end()


class Bar:
    """A progress bar on a terminal, nothing elsewhere. Call it with (done, total)."""

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label, self.stream = label, stream or sys.stderr
        self.shown = self.stream.isatty()

    def __call__(self, done: int, total: int) -> None:
        if self.shown:
            filled = min(30, 30 * done // max(1, total))
            self.stream.write(f"\r{self.label} [{'#' * filled}{'.' * (30 - filled)}] {done}/{total}")
            self.stream.flush()

    def end(self) -> None:
        if self.shown:
            self.stream.write("\n")
