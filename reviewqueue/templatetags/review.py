"""Presentation of single values: initials, times, and strangers' text with its invisible characters shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from json import dumps

from django import template
from django.utils.html import format_html, format_html_join

from checkpoints.models import Decision, Handoff, Ticket
from checkpoints.types import JSONObject, State, rfc3339
from reviewqueue.services.rechecking import lines_of

register = template.Library()

ACCEPTS_LATE = (State.RECOVERABLE.value, State.ESCALATED.value)

DECIDED = {
    "approve": "approved",
    "edit": "edited",
    "abort": "aborted",
    "send_back": "sent it back with a question",
    "escalate": "escalated",
    "reopen": "reopened",
}


@register.filter
def initials(label: str) -> str:
    words = [word for word in label.replace(".", " ").replace("_", " ").split() if word[0].isalnum()]
    return "".join(word[0] for word in words[:2]).upper() or "?"


@register.filter
def words(text: str) -> list[str]:
    """The words of a literal, to loop over them."""
    return text.split()


@register.filter
def get(values: Mapping[str, object], name: str) -> object:
    """A member by a name that only the page knows; "" where there is none."""
    return values.get(name, "")


@register.filter
def json(value: object) -> str:
    return dumps(value, ensure_ascii=False)


@register.filter
def decided(decision: Decision) -> str:
    """What somebody did, as a verb."""
    return DECIDED.get(decision.action, decision.action)


@register.filter
def ticket_state(ticket: Ticket, now: datetime) -> str:
    if ticket.revoked_at:
        return "void"
    if ticket.redeemed_at:
        return "used"
    return "expired" if ticket.expires_at <= now else "valid"


@register.filter
def still_working(handoff: Handoff, number: int) -> str:
    """What a timed-out attempt of a handoff leaves open."""
    late = (
        "a late acknowledgement still counts"
        if number == handoff.last_attempt and handoff.state in ACCEPTS_LATE
        else "its acknowledgement no longer counts"
    )
    return f"Its receiver may still be working; {late}"


@register.filter
def spaced(text: str) -> str:
    """An identifier of ours or the format's as words."""
    return text.replace("_", " ")


@register.filter
def full_stop(text: str) -> bool:
    """Whether a sentence is already closed."""
    return text.endswith((".", "?", "!", ":"))


@register.filter
def quorum(handoff: Handoff) -> list[bool]:
    """One mark per needed approval: given or not."""
    return [place < handoff.approvals_given for place in range(handoff.approvals_required)]


@register.filter
def visible(text: str) -> str:
    """A stranger's text where no markup is possible: hidden characters as ⟨U+202E⟩."""
    return "".join(f"⟨{part}⟩" if name else part for part, name in pieces(text))


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
    return not character.isprintable() and character not in "\n\t"


# Empty space that pushes words out of sight.
_EMPTY = re.compile(r"(?:[^\S\n]*\n){4,}[^\S\n]*|[^\S\n]{60,}")


@register.filter
def plain(text: str) -> bool:
    """Whether a text has no hidden character at all, and no empty space that hides what follows."""
    bare = text if text.isprintable() else text.replace("\n", "").replace("\t", "")
    return bare.isprintable() and not _EMPTY.search(text)


def pieces(text: object) -> list[tuple[str, str]]:
    """Runs of (text, "") and single hidden characters as ("U+202E", name); much empty space as its size."""
    whole = str(text)
    if plain(whole):
        return [(whole, "")]
    found: list[tuple[str, str]] = []
    at = 0
    for empty in _EMPTY.finditer(whole):
        found += _characters(whole[at : empty.start()])
        lines = empty.group().count("\n")
        size = f"{lines} line breaks" if lines else f"{len(empty.group())} spaces"
        found.append((size, "empty space that was left out"))
        at = empty.end()
    return found + _characters(whole[at:])


def _characters(text: str) -> list[tuple[str, str]]:
    run: list[str] = []
    found: list[tuple[str, str]] = []
    for character in text:
        if not is_hidden(character):
            run.append(character)
            continue
        if run:
            found.append(("".join(run), ""))
            run.clear()
        name = unicodedata.name(character, "control character").lower()
        found.append((f"U+{ord(character):04X}", name))
    if run:
        found.append(("".join(run), ""))
    return found


@register.simple_tag
def said(text: object, limit: int = 0) -> str:
    """A stranger's words: isolated, escaped, hidden characters as chips, at most `limit` characters."""
    whole = "" if text is None else str(text)
    shown = whole if not limit or len(whole) <= limit else whole[:limit]
    left_out = len(whole) - len(shown)
    words = (
        shown if plain(shown) else format_html_join("", "{}", ((_piece(*piece),) for piece in pieces(shown)))
    )
    rest = format_html('… <span class="muted">(+{} characters)</span>', left_out) if left_out else ""
    return format_html("<bdi hx-ignore>{}{}</bdi>", words, rest)


def _piece(text: str, name: str) -> str:
    if not name:
        return text
    return format_html('<span class="cp" title="{}">{}<span class="vh"> ({})</span></span>', name, text, name)


@register.filter
def patch_lines(patch: Sequence[JSONObject]) -> list[str]:
    """RFC 6902 operations as lines of text."""
    return lines_of(patch)
