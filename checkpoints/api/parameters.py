"""Query parameters and the Prefer header, read strictly: what is unknown is refused, not ignored."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from typing import Final

from django.http import HttpRequest

from checkpoints.errors import InvalidInput, ProblemError

LONGEST_WAIT_SECONDS: Final = 60
LONGEST_TEXT: Final = 500
_IGNORED: Final = frozenset({"format"})  # content negotiation is the Accept header's
_WAIT: Final = re.compile(r'wait\s*=\s*"?([0-9]{1,6})"?')


def invalid(name: str, detail: str) -> InvalidInput:
    """400 `invalid-parameter` for one parameter or header."""
    return InvalidInput(detail, status=400, errors=[ProblemError(f"/{name}", "invalid-parameter", detail)])


class Parameters:
    """The query of one request. Construction refuses unknown names, repeats and unusable text."""

    def __init__(
        self, request: HttpRequest, *, single: Collection[str] = (), repeatable: Collection[str] = ()
    ) -> None:
        self.values = {name: list(values) for name, values in request.GET.lists() if name not in _IGNORED}
        for name, values in self.values.items():
            if name not in single and name not in repeatable:
                known = ", ".join(sorted([*single, *repeatable])) or "none"
                raise invalid(name[:64], f"The parameter {name[:64]!r} is unknown here. Known: {known}.")
            if len(values) > 1 and name not in repeatable:
                raise invalid(name, f"The parameter {name} stands {len(values)} times. Send it once.")
            if any("\x00" in value or len(value) > LONGEST_TEXT for value in values):
                raise invalid(
                    name, f"The parameter {name} holds U+0000 or more than {LONGEST_TEXT} characters."
                )

    def text(self, name: str) -> str | None:
        """The value of a parameter that stands once; None where it does not stand."""
        return self.values[name][0] if name in self.values else None

    def texts(self, name: str) -> list[str]:
        return self.values.get(name, [])

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        value = self.text(name)
        if value is None:
            return default
        return self._one_of(name, value, choices)

    def choices(self, name: str, choices: Collection[str]) -> list[str]:
        return [self._one_of(name, value, choices) for value in self.texts(name)]

    def integer(self, name: str, *, default: int, least: int, most: int) -> int:
        value = self.text(name)
        if value is None:
            return default
        if not (value.isascii() and value.isdigit() and len(value) <= 16 and least <= int(value) <= most):
            raise invalid(name, f"{name} is {value[:64]!r}. Send an integer from {least} to {most}.")
        return int(value)

    def instant(self, name: str) -> datetime | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            at = None
        if at is None or at.tzinfo is None:
            raise invalid(
                name,
                f"{name} is {value[:64]!r}. Send an RFC 3339 time with an offset, such as 2026-01-31T08:00:00Z.",
            )
        return at

    @staticmethod
    def _one_of(name: str, value: str, choices: Collection[str]) -> str:
        if value not in choices:
            raise invalid(name, f"{name} is {value[:64]!r}. Use one of {', '.join(choices)}.")
        return value


def wait_seconds(request: HttpRequest) -> int | None:
    """N of `Prefer: wait=N`, at most 60. None where nobody prefers it: preferences we cannot read are ignored."""
    for preference in request.META.get("HTTP_PREFER", "").split(","):
        found = _WAIT.fullmatch(preference.split(";")[0].strip())
        if found:
            return min(int(found[1]), LONGEST_WAIT_SECONDS)
    return None
