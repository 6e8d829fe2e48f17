"""Which words of two texts differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

MOST_WORDS: Final = 1500  # of both texts together, for a comparison word by word
LIKE: Final = 0.5  # share of words in common from which on single words are marked
KEPT: Final = 80  # characters of an equal run that stay on each side of a difference

_WORDS: Final = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Part:
    """A run of a text. `kind` is same, differs or left_out; of the last `text` is the number of characters."""

    kind: str
    text: str


def marked(old: str, new: str) -> tuple[list[Part], list[Part]]:
    """Both texts as runs. Long equal runs are left out in the middle."""
    words, new_words = _WORDS.findall(old), _WORDS.findall(new)
    head = _common(words, new_words)
    tail = _common(words[head:][::-1], new_words[head:][::-1])
    middle, new_middle = words[head : len(words) - tail], new_words[head : len(new_words) - tail]
    left, right = [("same", "".join(words[:head]))], [("same", "".join(words[:head]))]
    if len(middle) + len(new_middle) > MOST_WORDS:
        left.append(("differs", "".join(middle)))
        right.append(("differs", "".join(new_middle)))
    else:
        for name, old_run, new_run in _runs(middle, new_middle):
            left.append((name, old_run))
            right.append((name, new_run))
    end = "".join(words[len(words) - tail :]) if tail else ""
    return _parts([*left, ("same", end)]), _parts([*right, ("same", end)])


def _runs(words: list[str], others: list[str]) -> Iterator[tuple[str, str, str]]:
    """Runs that are the same and runs that differ; texts with little in common are one run that differs."""
    matcher = SequenceMatcher(None, words, others, autojunk=False)
    if matcher.ratio() < LIKE:
        yield "differs", "".join(words), "".join(others)
        return
    for kind, low, high, new_low, new_high in matcher.get_opcodes():
        same = "".join(words[low:high])
        # A space between two words that differ is no agreement.
        inner = low > 0 and high < len(words) and same.isspace()
        name = "same" if kind == "equal" and not inner else "differs"
        yield name, same, "".join(others[new_low:new_high])


def _common(words: list[str], others: list[str]) -> int:
    length = 0
    for one, other in zip(words, others, strict=False):
        if one != other:
            break
        length += 1
    return length


def _parts(runs: list[tuple[str, str]]) -> list[Part]:
    joined: list[tuple[str, str]] = []
    for kind, text in runs:
        if not text:
            continue
        if joined and joined[-1][0] == kind:
            joined[-1] = (kind, joined[-1][1] + text)
        else:
            joined.append((kind, text))
    last = len(joined) - 1
    parts: list[Part] = []
    for place, (kind, text) in enumerate(joined):
        parts += _shortened(text, place == 0, place == last) if kind == "same" else [Part(kind, text)]
    return parts


def _shortened(text: str, first: bool, last: bool) -> list[Part]:
    """An equal run without its middle, or without its outer end where the text begins or ends with it."""
    if len(text) <= 3 * KEPT:
        return [Part("same", text)]
    head, tail = ("" if first else text[:KEPT]), ("" if last else text[-KEPT:])
    if first and last:
        head = text[:KEPT]
    parts = [Part("same", head), Part("left_out", str(len(text) - len(head) - len(tail))), Part("same", tail)]
    return [part for part in parts if part.text]
