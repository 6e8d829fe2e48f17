"""Addresses of lists: filters and cursors in the query, each chip with the address without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from checkpoints.errors import InvalidInput
from reviewqueue.pages import keyset

CURSORS = ("after", "before")
LONGEST = 300


@dataclass(frozen=True, slots=True)
class Chip:
    name: str
    value: str
    without: str


def link(path: str, parameters: Mapping[str, str]) -> str:
    kept = {name: value for name, value in parameters.items() if value}
    return path + (f"?{urlencode(kept)}" if kept else "")


def suffix(given: Mapping[str, str]) -> str:
    """What a link from a list adds, so that the page behind it knows the list: `?list=` and the list's own query."""
    kept = {name: value for name, value in given.items() if value and name not in CURSORS}
    return f"?{urlencode({'list': urlencode(kept)})}"


def texts(given: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The filters as trimmed text. Raises InvalidInput (400) for NUL or more than 300 characters."""
    found = {name: given.get(name, "").strip() for name in names}
    for name, text in found.items():
        if "\0" in text or len(text) > LONGEST:
            raise InvalidInput(f"“{name}” holds at most {LONGEST} characters and no NUL.", status=400)
    return found


def chips(path: str, given: Mapping[str, str], names: Iterable[str]) -> list[Chip]:
    return [
        Chip(
            "search" if name == "q" else name,
            given[name].strip(),
            link(path, {key: text for key, text in given.items() if key not in (name, *CURSORS)}),
        )
        for name in names
        if given.get(name, "").strip()
    ]


def around(path: str, given: Mapping[str, str], found: keyset.Slice[Any]) -> dict[str, str]:
    """The addresses of the pages beside this one, "" where there is none."""
    kept = {name: text for name, text in given.items() if name not in CURSORS}
    return {
        "next": link(path, {**kept, "after": found.next}) if found.next else "",
        "previous": link(path, {**kept, "before": found.previous}) if found.previous else "",
    }
