"""Presentation of single values: initials, times, and strangers' text with its invisible characters shown."""

from __future__ import annotations

import unicodedata
from datetime import datetime

from django import template

from checkpoints.types import rfc3339

register = template.Library()


@register.filter
def initials(label: str) -> str:
    words = [word for word in label.replace(".", " ").replace("_", " ").split() if word[0].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or "?"


@register.filter
def words(text: str) -> list[str]:
    """The words of a literal, to loop over them."""
    return text.split()


@register.filter
def utc(at: datetime | None) -> str:
    """The instant for a `datetime` attribute."""
    return rfc3339(at) if at else ""


@register.filter
def clock(at: datetime | None) -> str:
    """A time as the server writes it; the browser adds the local one."""
    return at.strftime("%-d %b %Y, %H:%M:%S UTC") if at else "—"


def is_hidden(character: str) -> bool:
    """Characters that change what a reader sees without being seen: controls, format marks, odd spaces."""
    if character in "\n\t":
        return False
    category = unicodedata.category(character)
    return category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") or (category == "Zs" and character != " ")


def pieces(text: object) -> list[tuple[str, str]]:
    """Runs of (text, "") and single hidden characters as ("U+202E", name)."""
    plain: list[str] = []
    found: list[tuple[str, str]] = []
    for character in str(text):
        if not is_hidden(character):
            plain.append(character)
            continue
        if plain:
            found.append(("".join(plain), ""))
            plain.clear()
        name = unicodedata.name(character, "control character").lower()
        found.append((f"U+{ord(character):04X}", name))
    if plain:
        found.append(("".join(plain), ""))
    return found


@register.inclusion_tag("components/said.html")
def said(text: object, limit: int = 0) -> dict[str, object]:
    """A stranger's words: isolated, escaped, hidden characters as chips, at most `limit` characters."""
    whole = "" if text is None else str(text)
    shown = whole if not limit or len(whole) <= limit else whole[:limit]
    return {"pieces": pieces(shown), "left_out": len(whole) - len(shown)}
