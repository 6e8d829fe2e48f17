"""One run of all families over one submission.

A check that raises becomes SYS-01 and the others go on: the item is flagged, never cleared, never lost. What
the broken shape of a document leaves unjudged is listed by code, so that silence is never read as "checked".
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from checkpoints.checks import (
    approvals,
    clock,
    conclusions,
    constraints,
    contradictions,
    decisions,
    engine,
    engine_history,
    fingerprint,
    footprint,
    history,
    integrity,
    recovery,
    safety,
    schema,
    sequence,
    vocabularies,
)
from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.checks.silence import silenced
from checkpoints.types import CheckContext, Gate, Hit, Submission

type Check = Callable[[Submission, CheckContext], Iterable[Hit]]

# Each module has FORMATS (formats it judges, ("*",) for all) and CHECKS. A new family is one line here, one
# module and one catalogue file.
FAMILIES: tuple[ModuleType, ...] = (
    schema,
    integrity,
    fingerprint,
    contradictions,
    vocabularies,
    decisions,
    approvals,
    constraints,
    recovery,
    clock,
    sequence,
    history,
    footprint,
    safety,
    engine,
    engine_history,
)

MOST_PER_CODE = 100

_BROKEN_SHAPE = frozenset({"HC-01", "HC-03", "EC-01"})


@dataclass(frozen=True, slots=True)
class Failure:
    """A check that raised. It names our code, never the document."""

    check: str  # "contradictions.steps_done_twice"
    error: str  # the exception's class
    at: str  # "contradictions.py:41"


@dataclass(frozen=True, slots=True)
class Run:
    hits: tuple[Hit, ...]
    families: tuple[str, ...]  # those that ran to their end
    not_judged: tuple[str, ...]  # codes that the document's shape left unjudged
    failures: tuple[Failure, ...]


def run(submission: Submission, context: CheckContext) -> Run:
    """All hits of all families that know this format. Never raises for anything a check does."""
    hits: list[Hit] = []
    failures: list[Failure] = []
    completed: list[str] = []
    for family in FAMILIES:
        if not _judges(family, submission.format):
            continue
        before = len(failures)
        for check in family.CHECKS:
            _guarded(check, (submission, context), hits, failures)
        if len(failures) == before:
            completed.append(_family_name(family))
    before = len(failures)
    for late in conclusions.LATE_CHECKS:
        _guarded(late, (submission, context, tuple(hits)), hits, failures)
    if len(failures) == before:
        completed.append(_family_name(conclusions))
    kept = _shortened(silenced(hits, context.policy))
    return Run(kept, tuple(completed), _not_judged(submission, hits), tuple(failures))


def _shortened(hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """At most MOST_PER_CODE hits of one code; the last of them says how many were left out.

    Five thousand steps without a time are one fact, not five thousand rows for a person to read. Hits with a
    severity of their own stand first, so that what is left out is never worse than what is shown.
    """
    if len(hits) <= MOST_PER_CODE:
        return hits
    by_code: dict[str, list[Hit]] = {}
    for hit in hits:
        by_code.setdefault(hit.code, []).append(hit)
    kept: list[Hit] = []
    for found in by_code.values():
        if len(found) > MOST_PER_CODE:
            found.sort(key=_rank, reverse=True)
            more = len(found) - MOST_PER_CODE
            last = found[MOST_PER_CODE - 1]
            found[MOST_PER_CODE - 1 :] = [replace(last, message=f"{last.message} ({more} more like this.)")]
        kept.extend(found)
    return tuple(kept)


def _rank(hit: Hit) -> int:
    known = CATALOGUE.get(hit.code)
    severity = hit.severity or (known.severity if known else None)
    return severity.rank if severity else 0


def _judges(family: ModuleType, format_name: str) -> bool:
    return "*" in family.FORMATS or format_name in family.FORMATS


def _family_name(family: ModuleType) -> str:
    return family.__name__.rpartition(".")[2]


def _guarded(
    check: Callable[..., Iterable[Hit]],
    arguments: tuple[Any, ...],
    hits: list[Hit],
    failures: list[Failure],
) -> None:
    found: list[Hit] = []
    try:
        found.extend(check(*arguments))
    except Exception as error:
        failure = _failure(check, error)
        failures.append(failure)
        hits.append(
            Hit(
                "SYS-01",
                "",
                f"The check {failure.check} crashed with {failure.error} at {failure.at}. A person must look "
                "at this document; tell the platform team the name of the check.",
                actual=failure.check,
            )
        )
    hits.extend(found)


def _failure(check: Callable[..., Iterable[Hit]], error: Exception) -> Failure:
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    file_name = last.filename.replace("\\", "/").rpartition("/")[2]
    name = f"{check.__module__.rpartition('.')[2]}.{getattr(check, '__name__', 'check')}"
    return Failure(name, type(error).__name__, f"{file_name}:{last.lineno}")


def _not_judged(submission: Submission, hits: Iterable[Hit]) -> tuple[str, ...]:
    """Codes that read a member which is missing or of a wrong type, and that found nothing elsewhere."""
    hits = tuple(hits)
    broken = {_pattern(hit.pointer) for hit in hits if hit.code in _BROKEN_SHAPE}
    if not broken:
        return ()
    spoken = {hit.code for hit in hits}
    return tuple(
        code
        for code, entry in CATALOGUE.items()
        if entry.gate is Gate.CHECKS
        and code not in spoken
        and entry.speaks_about(submission.format)
        and any(_contains(place, path) for place in broken for path in entry.reads)
    )


def _pattern(pointer: str) -> str:
    """`/completed_steps/3/step_id` as `completed_steps/*/step_id`."""
    return "/".join("*" if part.isdigit() else part for part in pointer.split("/")[1:])


def _contains(place: str, path: str) -> bool:
    return path == place or path.startswith(f"{place}/")
