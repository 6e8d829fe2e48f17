"""Show, check, try out and publish the policy from the command line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from checkpoints.canonical import parse
from checkpoints.errors import ProblemError, Refused
from checkpoints.management import simulation_text
from checkpoints.management.answering import Answer, AnsweringCommand, Bar, Failed
from checkpoints.models import PolicyVersion
from checkpoints.policies import doubts, validate, with_defaults
from checkpoints.services import policy, simulation
from checkpoints.types import COMMAND_LINE, JSONObject, JSONValue, Limits, rfc3339

MISTAKES = 2
DIFFERS = 3
SEVERAL_PROCESSES_FROM = 3000


class Command(AnsweringCommand):
    help = (
        "show [VERSION]: the policy document. validate FILE: look for mistakes. apply FILE: publish it, effective "
        "for the next check and audited as system:cli. history: all versions. simulate FILE --days N: judge the "
        "handoffs of the last N days with FILE and compare with their stored verdicts; nothing stored changes. "
        "validate and apply also name roles that the policy does not list; with --strict these are mistakes. "
        "FILE may be - for standard input. Exit codes: 0 done, 2 the document has mistakes (each is named with its "
        "pointer), 3 simulate --exit-code found handoffs whose outcome would differ, 1 not done."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("verb", choices=["show", "apply", "validate", "history", "simulate"])
        parser.add_argument(
            "file", nargs="?", metavar="FILE|VERSION", help="the document; for show, the number of a version"
        )
        parser.add_argument("--note", default="", help="of apply: why; it stands in the history")
        parser.add_argument(
            "--days", type=int, default=30, help="of simulate: how far back (1 to 3650, else 30)"
        )
        parser.add_argument(
            "--processes", type=int, help="of simulate: how many at once (else 2 for more than 3000 handoffs)"
        )
        parser.add_argument(
            "--exit-code", action="store_true", help="of simulate: end with 3 where an outcome would differ"
        )

        parser.add_argument(
            "--strict",
            action="store_true",
            help="of validate, apply: refuse names that nothing in FILE knows",
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        verb, file = options["verb"], options["file"]
        if verb == "show":
            return _show(file)
        if verb == "history":
            return _history()
        if not file:
            raise Failed(f"Name the file: manage.py policy {verb} FILE.")
        document = _read(file)
        _refuse_mistakes(document, strict=options["strict"])
        if verb == "simulate":
            return _simulated(
                document, options["days"], processes=options["processes"], exit_code=options["exit_code"]
            )
        if verb == "apply":
            return _apply(document, options["note"])
        return _with_doubts(document, Answer("The policy is valid.", {"valid": True}))


def _show(version: str | None) -> Answer:
    if version is not None and not version.isdecimal():
        raise Failed(f"{version} is no version number. See `manage.py policy history`.")
    try:
        found = policy.of_version(version=int(version)) if version else policy.active(fresh=True)
    except PolicyVersion.DoesNotExist:
        raise Failed(f"There is no policy version {version}. See `manage.py policy history`.") from None
    published = rfc3339(found.published_at) if found.published_at else None
    data: JSONObject = {"version": found.version, "published_at": published, "document": found.document}
    data["effective"] = with_defaults(found.document)
    return Answer(json.dumps(found.document, indent=2, ensure_ascii=False), data)


def _history() -> Answer:
    rows = PolicyVersion.objects.order_by("-version")
    versions: list[JSONValue] = [
        {
            "version": row.version,
            "published_at": rfc3339(row.published_at),
            "published_by": row.published_by,
            "authored_by": row.authored_by,
            "note": row.note,
        }
        for row in rows
    ]
    lines = [
        f"{row.version:>5}  {rfc3339(row.published_at)}  {row.published_by}  {row.note}".rstrip()
        for row in rows
    ]
    return Answer(
        "\n".join(lines) or "No policy was published: the defaults are in force.", {"versions": versions}
    )


def _simulated(document: JSONObject, days: int, *, processes: int | None, exit_code: bool) -> Answer:
    if not 1 <= days <= simulation.LONGEST_DAYS:
        raise Failed(f"--days is {days}: use 1 to {simulation.LONGEST_DAYS}.")
    bar = Bar("Judging")
    report = simulation.simulate(
        document=document, days=days, progress=bar, processes=processes or _processes(days)
    )
    bar.end()
    code = DIFFERS if exit_code and report.differences else 0
    return Answer(simulation_text.report(report, days), report.as_json(days), code)


def _processes(days: int) -> int:
    """Another process costs half a second: only a large window is worth it."""
    return min(2, os.cpu_count() or 1) if simulation.window(days=days).total > SEVERAL_PROCESSES_FROM else 1


def _apply(document: JSONObject, note: str) -> Answer:
    row = policy.publish(document=document, actor=COMMAND_LINE, note=note)
    answer = Answer(
        f"Version {row.version} is in force from the next check on.",
        {"version": row.version, "published_at": rfc3339(row.published_at)},
    )
    return _with_doubts(document, answer)


def _with_doubts(document: JSONObject, answer: Answer) -> Answer:
    found = doubts(document)
    if not found:
        return answer
    text = "\n".join([answer.text, "", "Look at:", *_lines(found)])
    return Answer(text, {**answer.data, "warnings": _listed(found)})


def _refuse_mistakes(document: JSONObject, *, strict: bool) -> None:
    mistakes = validate(document)
    if strict and not mistakes:
        mistakes = doubts(document)
    if mistakes:
        lines = [
            f"The policy has {len(mistakes)} mistake{'s' if len(mistakes) > 1 else ''}:",
            *_lines(mistakes),
        ]
        raise Failed("\n".join(lines), code=MISTAKES, data={"valid": False, "errors": _listed(mistakes)})


def _lines(errors: list[ProblemError]) -> list[str]:
    return [f"  {item.pointer or '/'}: {item.detail}" for item in errors]


def _listed(errors: list[ProblemError]) -> list[JSONValue]:
    return [{"pointer": item.pointer, "code": item.code, "detail": item.detail} for item in errors]


def _read(file: str) -> JSONObject:
    try:
        content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Failed(f"{file} cannot be read: {error.strerror}.") from error
    try:
        return parse(content, Limits())
    except Refused as refused:
        raise Failed(
            f"{file}: {refused.detail}", code=MISTAKES, data={"valid": False, "code": refused.slug}
        ) from refused
