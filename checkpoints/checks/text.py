"""Characters that make a reader see something else than a program reads: invisible, bidirectional, confusable.

Honest writing stays silent: joiners inside emoji and inside scripts that need them, direction marks beside
right-to-left letters, words wholly in one script.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

# Letters of other scripts that look like an ASCII letter in most fonts. Not the whole Unicode table: the ones
# that attacks on names use.
_SCRIPTS: Final = {
    **dict(zip("аеорсухіјѕһԁԛԝѵӏ", "aeopcyxijshdqwvl", strict=True)),  # Cyrillic, small
    **dict(zip("АВЕКМНОРСТУХІЈЅԚԜ", "ABEKMHOPCTYXIJSQW", strict=True)),  # Cyrillic, capital
    **dict(zip("οντιϲϳ", "ovticj", strict=True)),  # Greek, small
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True)),  # Greek, capital
    **dict(zip("օոսհցզ", "onuhgq", strict=True)),  # Armenian
}
# Letters of the Latin script itself: honest in text, not in an id.
_LATIN: Final = dict(zip("ıȷɑɡ", "ijag", strict=True))
_SIGNS: Final = frozenset("∕⁄‐‑‒–−․")  # slashes, hyphens, dashes and dots that are not the ASCII ones
LOOK_ALIKES: Final = {**_SCRIPTS, **_LATIN}

_BIDI: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_MARKS: Final = frozenset("\u200e\u200f\u061c")
_JOINERS: Final = frozenset("\u200c\u200d")
# No letter, no ink, yet not of category Cf: fillers and the blank of Braille.
_BLANKS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_CANDIDATE: Final = re.compile(r"[^\x20-\x7e\t\n\r]")
_WORD: Final = re.compile(r"[^\W\d_]+")
_JOINING_SCRIPTS: Final = ("ARABIC", "SYRIAC", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI", "GUJARATI",
                           "ORIYA", "TAMIL", "TELUGU", "KANNADA", "MALAYALAM", "SINHALA", "KHMER", "MYANMAR",
                           "TIBETAN", "THAI", "LAO", "NKO")  # fmt: skip
_TAG_BASE: Final = "\U0001f3f4"


class Suspicious(NamedTuple):
    """One character that a reader does not see or takes for another."""

    at: int
    character: str
    what: str  # "invisible", "bidirectional", "confusable"

    @property
    def label(self) -> str:
        return f"U+{ord(self.character):04X}"

    @property
    def name(self) -> str:
        return unicodedata.name(self.character, "a control or private character")


def suspicious(text: str, *, strict: bool = False) -> Iterator[Suspicious]:
    """The suspicious characters of a text. `strict`, for ids and names: every look-alike, not only in "
    "mixed words."""
    if text.isascii() and text.isprintable():
        return
    for found in _CANDIDATE.finditer(text):
        what = _what(text, found.start(), strict=strict)
        if what is not None:
            yield Suspicious(found.start(), found[0], what)
    if not text.isascii():
        yield from _confusable_words(text, strict=strict)


def has_suspicious(text: str, *, strict: bool = False) -> bool:
    return next(suspicious(text, strict=strict), None) is not None


def _what(text: str, index: int, *, strict: bool) -> str | None:
    character = text[index]
    if character in _BIDI:
        return "bidirectional"
    if character in _MARKS:
        return None if not strict and _beside_right_to_left(text, index) else "bidirectional"
    if character in _BLANKS:
        return "invisible"
    category = unicodedata.category(character)
    if category in ("Cf", "Cc", "Co") or _is_selector(character):
        return None if not strict and _is_needed(text, index) else "invisible"
    return "confusable" if strict and character in _SIGNS else None


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _is_needed(text: str, index: int) -> bool:
    """Whether a format character does its honest work here: joins, selects, or belongs to a flag."""
    character = text[index]
    before = text[index - 1] if index else ""
    after = text[index + 1 : index + 2]
    if _is_selector(character):
        # After a symbol, a digit (keycaps) or an ideograph.
        return bool(before) and (
            unicodedata.category(before)[0] in "SN" or before in "#*" or ord(before) > 0x2000
        )
    if character in _JOINERS:
        return (_is_pictograph(before) and _is_pictograph(after)) or (
            _joins(before) and (not after or not after.isascii())
        )
    if "\U000e0020" <= character <= "\U000e007f":
        return _is_flag_tag(text, index)
    # Soft hyphens inside a word are typesetting; Arabic number signs and the like are letters of their scripts.
    if character == "\u00ad":
        return before.isalpha() and after.isalpha() and not before.isascii()
    return unicodedata.name(character, "").startswith(("ARABIC", "SYRIAC", "KAITHI"))


def _is_flag_tag(text: str, index: int) -> bool:
    start = index
    while start and "\U000e0020" <= text[start] <= "\U000e007f" and index - start < 8:
        start -= 1
    return text[start] == _TAG_BASE


def _is_pictograph(character: str) -> bool:
    return bool(character) and (unicodedata.category(character) in ("So", "Sk") or _is_selector(character))


def _joins(character: str) -> bool:
    return bool(character) and unicodedata.name(character, "").startswith(_JOINING_SCRIPTS)


def _beside_right_to_left(text: str, index: int) -> bool:
    near = text[max(0, index - 40) : index + 41]
    return any(
        unicodedata.bidirectional(character) in ("R", "AL") for character in near if character not in _MARKS
    )


def _looks_like_ascii(letter: str) -> bool:
    if letter in LOOK_ALIKES:
        return True
    plain = unicodedata.normalize("NFKC", letter)
    return len(plain) == 1 and plain.isascii() and plain.isalnum()


def _confusable_words(text: str, *, strict: bool) -> Iterator[Suspicious]:
    """Words that read as ASCII and are not: every other letter in them has an ASCII double.

    In text a word must mix scripts to be one; a name may be made of doubles alone.
    """
    for word in _WORD.finditer(text):
        letters = word[0]
        if letters.isascii():
            continue
        strange = [index for index, letter in enumerate(letters) if not letter.isascii()]
        is_mixed = len(strange) < len(letters)
        if strict:
            deceives = all(_looks_like_ascii(letters[index]) for index in strange)
        else:
            deceives = is_mixed and all(letters[index] in _SCRIPTS for index in strange)
        if deceives:
            at = word.start() + strange[0]
            yield Suspicious(at, text[at], "confusable")
