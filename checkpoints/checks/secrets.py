"""What looks like a credential, and how it is masked wherever a document is shown or logged.

One pattern per kind, each with a literal that a text must hold before the pattern is tried: searching for nine
literals and then for one pattern is many times faster than one alternation of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from checkpoints.types import JSONValue


class Kind(NamedTuple):
    """A kind of credential. `literals`: one of them stands in every text that the pattern matches."""

    name: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]


def _kind(name: str, literals: tuple[str, ...], pattern: str) -> Kind:
    # Not inside a longer word: "task-…" holds "sk-".
    return Kind(name, literals, re.compile(rf"(?<![A-Za-z0-9_]){pattern}", re.ASCII))


KINDS: Final = (
    _kind("private key", ("PRIVATE KEY-----",), r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----"),
    _kind(
        "API key (sk-)",
        ("sk-",),
        # Words joined by hyphens are no key: a run of letters and digits must stand in it. Not after a hyphen, so
        # that a text of nothing but "sk-" is searched once.
        r"(?<!-)sk-(?=[A-Za-z0-9_-]{0,60}"
        r"(?:(?=[A-Za-z]{0,11}[0-9])(?=[0-9]{0,11}[A-Za-z])[A-Za-z0-9]{12}|[A-Za-z0-9]{20}))[A-Za-z0-9_-]+",
    ),
    _kind("payment key", ("k_live_", "k_test_"), r"[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}"),
    _kind("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{20,}"),
    _kind("GitHub token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{20,}"),
    _kind("GitLab token", ("glpat-",), r"glpat-[A-Za-z0-9_-]{16,}"),
    _kind("AWS access key", ("AKIA", "ASIA"), r"A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _kind("Slack token", ("xox", "xapp-"), r"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _kind("Google API key", ("AIza",), r"AIza[A-Za-z0-9_-]{30,}"),
    _kind("Hugging Face token", ("hf_",), r"hf_(?=[A-Za-z]{0,40}[0-9A-Z])[A-Za-z0-9]{30,}"),
    _kind("npm token", ("npm_",), r"npm_[A-Za-z0-9]{30,}"),
    _kind("mail key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _kind(
        "signed web token",
        ("eyJ",),  # A start inside a run of its own characters would make the search quadratic.
        r"(?<!-)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    ),
    _kind("orchestrator token", ("rq_",), r"rq_[A-Za-z0-9]{8}_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
)

_LITERALS: Final = tuple(literal for kind in KINDS for literal in kind.literals)
SHOWN_PREFIX = 4
MASK = "[masked]"


def _may_hold_one(text: str) -> bool:
    """Whether any literal stands in a text: in most none does, and nothing else has to be tried."""
    for literal in _LITERALS:  # noqa: SIM110 - a generator costs more than all the searches
        if literal in text:
            return True
    return False


def kinds_in(text: str) -> Iterator[Kind]:
    """The kinds of credential that stand in a text."""
    if not _may_hold_one(text):
        return
    for kind in KINDS:
        if any(literal in text for literal in kind.literals) and kind.pattern.search(text):
            yield kind


def mask(text: str) -> str:
    """The text with every credential cut to its first four characters: `sk-a…[masked]`.

    For every page, export and log line that shows something of a document. Stored bytes stay as they are.
    """
    if not _may_hold_one(text):
        return text
    for kind in KINDS:
        if any(literal in text for literal in kind.literals):
            text = kind.pattern.sub(lambda found: f"{found[0][:SHOWN_PREFIX]}…{MASK}", text)
    return text


def masked(value: JSONValue) -> JSONValue:
    """A JSON value with `mask` applied to every string and member name in it."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, dict):
        return {mask(name): masked(item) for name, item in value.items()}
    return value
