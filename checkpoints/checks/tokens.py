"""How many tokens of an o200k vocabulary a document and its context take.

The vocabulary comes with the quicktok wheel and takes most of a second to load: load it when a worker child
starts, never inside a request. Where it was not loaded, a count is UTF-8 bytes / 4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import orjson

from checkpoints.checks.shape import ENGINE, HANDOFF, view
from checkpoints.types import CheckContext, JSONValue, Submission

ENCODING = "o200k_base"


class Tokens(NamedTuple):
    document: int
    context: int


@cache
def load() -> Callable[[str], int]:
    """The counter for `CheckContext.count_tokens`, loaded once per process. Raises ImportError without "
    "quicktok."""
    import quicktok

    count: Callable[[str], int] = quicktok.get_encoding(ENCODING).count
    return count


def estimated(text: str) -> int:
    """Tokens by rule of thumb: UTF-8 bytes / 4, rounded up."""
    return -(-len(text.encode()) // 4)


def counted(submission: Submission, context: CheckContext) -> Tokens:
    """Tokens of the compact JSON of the payload and of its context."""
    count = context.count_tokens or estimated
    return Tokens(count(view(submission).written.decode()), context_tokens(submission, context))


def context_tokens(submission: Submission, context: CheckContext) -> int:
    """Tokens of `context_snapshot`, or of an engine's conversation; 0 where the document has no context."""
    count = context.count_tokens or estimated
    known = view(submission).context_tokens
    if count not in known:
        value = context_of(submission)
        text = "" if value is None else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
        known[count] = count(text) if text else 0
    return known[count]


def context_of(submission: Submission) -> JSONValue:
    """What the next agent is given to read."""
    if submission.format == HANDOFF:
        return view(submission).context
    return submission.payload.get("messages") if submission.format == ENGINE else None
