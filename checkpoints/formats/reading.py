"""Total accessors: whatever the JSON is, they answer and never raise."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from checkpoints.types import JSONObject, JSONValue, PendingDecision, ReportedIssue, Risk, Severity

_RFC3339: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))", re.ASCII
)
_RISKS: Final = {
    "low": Risk.LOW,
    "medium": Risk.MEDIUM,
    "normal": Risk.MEDIUM,
    "high": Risk.HIGH,
    "critical": Risk.HIGH,
}
_SPACES: Final = re.compile(r"[\s\-]+")


def text(holder: JSONValue, name: str) -> str | None:
    """A member that is a non-empty string, else None."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, str) and value else None


def integer(holder: JSONValue, name: str) -> int | None:
    """A member that is an integer (no boolean, no 1.0), else None."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if type(value) is int else None


def natural(value: JSONValue) -> int | None:
    """A value that is an integer from 0 up, else None."""
    return value if type(value) is int and value >= 0 else None


def mapping(holder: JSONValue, name: str) -> JSONObject:
    """A member that is an object, else {}."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}


def sequence(holder: JSONValue, name: str) -> list[JSONValue]:
    """A member that is a list, else []."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, list) else []


def mappings(holder: JSONValue, name: str) -> list[tuple[int, JSONObject]]:
    """(index, element) of each element of a list member that is an object."""
    return [(index, item) for index, item in enumerate(sequence(holder, name)) if isinstance(item, dict)]


def strings(values: Iterable[JSONValue]) -> tuple[str, ...]:
    """The non-empty strings among the values, each once, in order."""
    return tuple(dict.fromkeys(value for value in values if isinstance(value, str) and value))


def fold(value: str) -> str:
    """Case, spaces and hyphens of an enum value forgiven: `In Progress` reads `in_progress`."""
    return _SPACES.sub("_", value.strip()).lower()


def folded_risk(value: JSONValue) -> Risk | None:
    """The risk a text names (`normal` is medium, `critical` is high), else None."""
    return _RISKS.get(fold(value)) if isinstance(value, str) else None


def folded_severity(value: JSONValue) -> Severity:
    """The severity a text names; whatever we do not know counts as high."""
    known = {"low": Severity.LOW, "medium": Severity.MEDIUM}
    return known.get(fold(value), Severity.HIGH) if isinstance(value, str) else Severity.HIGH


def instant(value: JSONValue) -> datetime | None:
    """The UTC instant of an RFC 3339 text with an offset, to the microsecond; None for anything else."""
    found = _RFC3339.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    date, clock, fraction, sign, hours, minutes = found.groups()
    offset = f"{sign}{hours}:{minutes}" if sign else "+00:00"
    try:
        return datetime.fromisoformat(f"{date}T{clock}.{(fraction or '0')[:6]:0<6}{offset}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def options(values: Iterable[JSONValue]) -> tuple[str, ...]:
    """The options of a decision as texts; what is no text is shown as JSON would write it."""
    return tuple(value if isinstance(value, str) else _shown(value) for value in values)


def decisions(holder: JSONValue, name: str, pointer: str) -> tuple[PendingDecision, ...]:
    """The `pending_decisions` of the handoff vocabulary. Only `false` or absence says that one does not block."""
    return tuple(
        PendingDecision(
            decision_id=text(item, "decision_id") or "",
            question=text(item, "question") or "",
            options=options(sequence(item, "options")),
            blocking=item.get("blocking") not in (None, False),
            pointer=f"{pointer}/{index}",
            recommendation=text(item, "recommendation"),
        )
        for index, item in mappings(holder, name)
    )


def issues(holder: JSONValue, name: str, pointer: str) -> tuple[ReportedIssue, ...]:
    """The sender's own consistency issues. A pointer it left out reads as the issue's own."""
    found = []
    for index, item in enumerate(sequence(holder, name)):
        own = f"{pointer}/{index}"
        if isinstance(item, dict):
            found.append(
                ReportedIssue(
                    code=text(item, "code"),
                    severity=folded_severity(item.get("severity")),
                    pointer=text(item, "pointer") or text(item, "path") or own,
                    message=text(item, "message") or text(item, "description") or "",
                )
            )
        elif isinstance(item, str):
            found.append(ReportedIssue(None, Severity.HIGH, own, item))
    return tuple(found)


def _shown(value: JSONValue) -> str:
    if isinstance(value, dict):
        for name in ("label", "title", "value", "name", "id"):
            if shown := text(value, name):
                return shown
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
