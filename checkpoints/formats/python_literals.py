"""Reads the text Python prints for plain values, without any evaluation.

LangGraph's serialiser writes an interrupt as its `repr`. The reviewer needs the question inside it, and
`ast.literal_eval` may exhaust the stack on hostile text, so this rewrites the text to JSON, bounded in size and depth.
"""

from __future__ import annotations

import json
import re
from typing import Final

from checkpoints.types import JSONValue

MAX_LENGTH: Final = 20_000
MAX_DEPTH: Final = 16
_TOKEN: Final = re.compile(
    r"(?P<text>'(?:[^'\\]++|\\.)*+'|\"(?:[^\"\\]++|\\.)*+\")"
    r"|(?P<word>True|False|None)|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<open>[\[{(])|(?P<close>[\]})])|(?P<mark>[,:])|(?P<space>\s++)",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}
_WORDS: Final = {"True": "true", "False": "false", "None": "null"}
_BRACKETS: Final = {"(": "[", ")": "]"}


def read_literal(text: str) -> JSONValue:
    """The value of a `repr` made of dicts, lists, tuples (as lists), strings, numbers, True, False and None.

    Raises ValueError for anything else, for more than MAX_LENGTH characters and for more than MAX_DEPTH levels.
    """
    if len(text) > MAX_LENGTH:
        raise ValueError("longer than is read")
    written: list[str] = []
    position = depth = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError("not a plain value")
        depth += (found["open"] is not None) - (found["close"] is not None)
        if depth > MAX_DEPTH:
            raise ValueError("deeper than is read")
        if found["close"] and written and written[-1] == ",":
            written.pop()  # a tuple of one is printed (1,)
        written.append(_as_json(found))
        position = found.end()
    value: JSONValue = json.loads("".join(written), parse_constant=_no_constant)
    return value


def _as_json(found: re.Match[str]) -> str:
    if found["text"]:
        return json.dumps(_ESCAPE.sub(_unescaped, found["text"][1:-1]))
    if found["space"]:
        return ""
    return _WORDS.get(found[0]) or _BRACKETS.get(found[0], found[0])


def _unescaped(found: re.Match[str]) -> str:
    code = found[1] or found[2] or found[3]
    if code:
        number = int(code, 16)
        # What admission refuses in JSON text may not come in this way either.
        if number == 0 or 0xD800 <= number <= 0xDFFF or number > 0x10FFFF:
            raise ValueError("not a character")
        return chr(number)
    if found[4] not in _PLAIN:
        raise ValueError("an unknown escape")
    return _PLAIN[found[4]]


def _no_constant(name: str) -> JSONValue:
    raise ValueError(f"{name} is no plain value")
