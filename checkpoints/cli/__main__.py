"""`python -m checkpoints.cli check FILE… [--policy FILE] [--json]`.

Exit codes: 0 every file cleared, 1 a file was flagged or rejected, 2 a file or the policy is unusable.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from checkpoints.cli.checking import Result, Unusable, check_bodies, dumped, read_policy, token_counter
from checkpoints.formats.reading import instant

CLEARED: Final = 0
STOPPED: Final = 1
UNUSABLE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    options = _parser().parse_args(arguments)
    received_at = datetime.now(UTC) if options.at is None else instant(options.at)
    if received_at is None:
        return _complain(f"--at {options.at} is no time. Write it like 2026-11-30T12:00:00Z.")
    try:
        results = list(
            check_bodies(
                _bodies(options.files),
                policy=read_policy(options.policy),
                received_at=received_at,
                count_tokens=token_counter(),
            )
        )
    except Unusable as error:
        return _complain(str(error))
    text = dumped(results) if options.json else "\n".join(lines(results))
    sys.stdout.write(f"{text}\n")
    if not all(result.is_usable for result in results):
        return UNUSABLE
    return CLEARED if all(result.is_clear for result in results) else STOPPED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m checkpoints.cli", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "check",
        help="judge checkpoint files as the server would",
        description="Files are judged in order; each is history for the later ones of its session.",
        epilog="Exit codes: 0 every file cleared, 1 a file was flagged or rejected, 2 a file or policy is unusable.",
    )
    check.add_argument("files", nargs="+", metavar="FILE", help="a checkpoint as JSON; - for standard input")
    check.add_argument(
        "--policy", type=Path, metavar="FILE", help="a policy document (default: the shipped one)"
    )
    check.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    check.add_argument("--at", metavar="TIME", help="the time of receipt (default: now)")
    return parser


def _bodies(files: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for name in files:
        try:
            yield name, sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            raise Unusable(f"{name} cannot be read: {error.strerror}.") from error


def _complain(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return UNUSABLE


def lines(results: Sequence[Result]) -> Iterator[str]:
    for result in results:
        yield f"{result.name}: {result.status}{_because(result)}"
        if result.judgement is None:
            for error in result.errors:
                yield f"  {error.code} {error.pointer or '/'}  {error.detail}"
            if not result.errors:
                yield f"  {result.problem}"
            continue
        for finding in result.judgement.findings:
            weight = f"{finding.severity.value:<6} {finding.disposition.value:<6}"
            yield f"  {finding.code} {weight} {finding.pointer or '/'}"
            yield f"      {_printable(finding.message)}"
        if result.judgement.not_judged:
            yield f"  not judged: {', '.join(result.judgement.not_judged)}"


def _because(result: Result) -> str:
    reasons = result.judgement.reasons if result.judgement else ()
    return f" ({', '.join(reason.value for reason in reasons)})" if reasons else ""


def _printable(text: str) -> str:
    """The text without characters that would steer a terminal."""
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text)


if __name__ == "__main__":
    sys.exit(main())
