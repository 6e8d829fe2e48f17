"""Files in, verdicts out: what `check` does, for the command line and for other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from checkpoints.canonical import parse
from checkpoints.checks import tokens
from checkpoints.cli.sessions import Sessions
from checkpoints.errors import InvalidInput, ProblemError, Refused
from checkpoints.formats import admit
from checkpoints.policies import DEFAULT_POLICY, compile_policy, judge
from checkpoints.types import CheckPolicy, Finding, JSONObject, Judgement, Limits, Outcome, Submission


class Unusable(Exception):
    """A policy or file that cannot be read; its text is a sentence for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Result:
    """One file: judged, or refused before that (`problem`)."""

    name: str
    submission: Submission | None = None
    sequence: int | None = None
    judgement: Judgement | None = None
    problem: str | None = None
    errors: tuple[ProblemError, ...] = ()

    @property
    def status(self) -> str:
        """cleared, flagged, rejected, or refused: the bytes would not be stored."""
        return self.judgement.outcome.value if self.judgement else "refused"

    @property
    def is_usable(self) -> bool:
        return self.judgement is not None

    @property
    def is_clear(self) -> bool:
        return self.judgement is not None and self.judgement.outcome is Outcome.CLEARED


def read_policy(path: Path | None) -> CheckPolicy:
    """The compiled policy of a JSON file; the shipped defaults without one. Raises Unusable."""
    if path is None:
        return DEFAULT_POLICY
    try:
        return compile_policy(parse(path.read_bytes(), Limits()), 0)
    except OSError as error:
        raise Unusable(f"{path} cannot be read: {error.strerror}.") from error
    except (Refused, InvalidInput) as error:
        details = "\n".join(f"  {problem.pointer or '/'}: {problem.detail}" for problem in error.errors)
        raise Unusable(f"{path} is no policy: {error.detail}\n{details}".rstrip()) from error


def check_bodies(
    bodies: Iterable[tuple[str, bytes]],
    *,
    policy: CheckPolicy,
    received_at: datetime,
    count_tokens: Callable[[str], int] | None = None,
) -> Iterator[Result]:
    """Judges (name, body) in order; each is history for the later ones of its session. Raises nothing."""
    sessions = Sessions()
    for name, body in bodies:
        try:
            submission = admit(body)
        except Refused as error:
            yield Result(name, problem=error.detail, errors=error.errors)
            continue
        context = sessions.context(
            submission, policy=policy, received_at=received_at, name=name, count_tokens=count_tokens
        )
        judgement = judge(submission, context)
        sessions.add(submission, context, judgement.outcome)
        yield Result(name, submission, context.handoff_sequence, judgement)


def token_counter() -> Callable[[str], int] | None:
    """The o200k counter where its wheel is installed, else None: tokens are then estimated."""
    try:
        return tokens.load()
    except ImportError:
        return None


def as_json(result: Result) -> JSONObject:
    """A result as `check --json` prints it, findings in the form of the API."""
    entry: dict[str, Any] = {"file": result.name, "status": result.status}
    if result.submission is None or result.judgement is None:
        entry["problem"] = result.problem
        entry["errors"] = [
            {"pointer": error.pointer, "code": error.code, "detail": error.detail} for error in result.errors
        ]
        return entry
    submission, judgement = result.submission, result.judgement
    entry |= {
        "format": submission.format,
        "session_id": submission.session_id,
        "checkpoint_id": submission.checkpoint_id,
        "handoff_sequence": result.sequence,
        "content_digest": submission.content_digest,
        "verdict": {
            "outcome": judgement.outcome.value,
            "reasons": [reason.value for reason in judgement.reasons],
            "document_tokens": judgement.document_tokens,
            "context_tokens": judgement.context_tokens,
        },
        "risk": judgement.risk.value,
        "approvals_required": judgement.approvals_required,
        "complete": judgement.complete,
        "not_judged": list(judgement.not_judged),
        "findings": [_finding(finding) for finding in judgement.findings],
    }
    return entry


def _finding(finding: Finding) -> JSONObject:
    """A finding as the API shows it."""
    return {name: getattr(value, "value", value) for name, value in asdict(finding).items()}


def dumped(results: Iterable[Result]) -> str:
    """All results as one JSON text."""
    return json.dumps({"results": [as_json(result) for result in results]}, indent=2, ensure_ascii=False)
