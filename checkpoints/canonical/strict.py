"""The strict parser itself: the standard library's, with every laxity closed and every fault located."""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import Any, Final, NoReturn

from checkpoints.canonical.jcs import SAFE_INTEGER
from checkpoints.canonical.pointers import Path, pointer
from checkpoints.errors import ProblemError, Refused
from checkpoints.types import Limits

_STEP: Final = bytes({0x5B: 1, 0x7B: 1, 0x5D: 0xFF, 0x7D: 0xFF}.get(byte, 0) for byte in range(256))
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_SPACE: Final = " \t\r\n"
_FORBIDDEN: Final = re.compile("[\x00\ud800-\udfff]")


class _Fault:
    """Stands in the parsed tree where a fault was, so that a walk can say where that is."""

    __slots__ = ("code", "detail", "name", "slug", "status")

    def __init__(self, slug: str, code: str, detail: str, status: int = 422, name: str | None = None) -> None:
        self.slug = slug
        self.code = code
        self.detail = detail
        self.status = status
        self.name = name  # of the member, where the fault is an object's


class _Reader:
    """The hooks of one parse. `faults` counts what they could not accept."""

    def __init__(self) -> None:
        self.faults = 0

    def object(self, pairs: list[tuple[str, Any]]) -> Any:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        self.faults += 1
        twice = _first_repeated(pairs)
        detail = f"The name {json.dumps(_shorten(twice))} stands twice in one object. Send it once."
        return _Fault("duplicate-key", "RAW-2", detail, name=twice)

    def integer(self, digits: str) -> Any:
        # Converting thousands of digits would take quadratic time.
        if len(digits) <= 17 and -SAFE_INTEGER <= (number := int(digits)) <= SAFE_INTEGER:
            return number
        self.faults += 1
        detail = (
            f"The integer {_shorten(digits)} is outside ±(2^53-1); readers would round it differently. "
            "Send it as a string."
        )
        return _Fault("number-out-of-range", "RAW-5", detail)

    def float(self, digits: str) -> Any:
        number = float(digits)
        if math.isfinite(number):
            return number
        self.faults += 1
        detail = f"The number {_shorten(digits)} does not fit a 64-bit float. Send it as a string."
        return _Fault("number-out-of-range", "RAW-3", detail)

    def constant(self, name: str) -> Any:
        self.faults += 1
        return _Fault("malformed-json", "RAW-3", f"{name} is not JSON. Send null or a string instead.", 400)


def parse_strictly(body: bytes, limits: Limits) -> Any:
    """Judges the bytes, then the limits, then the text. Raises Refused at the first fault."""
    if body.startswith(b"\xef\xbb\xbf"):
        detail = "The body begins with a byte order mark. Send UTF-8 without one."
        refuse("malformed-json", detail, "RAW-1", 400)
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        detail = f"Byte {error.start} of the body is not valid UTF-8. Encode the body as UTF-8."
        refuse("invalid-utf8", detail, "RAW-1", 400)
    _check_limits(body, limits)
    reader = _Reader()
    try:
        value = json.loads(
            text,
            object_pairs_hook=reader.object,
            parse_int=reader.integer,
            parse_float=reader.float,
            parse_constant=reader.constant,
        )
    except json.JSONDecodeError as error:
        _refuse_malformed(text, error)
    has_escapes = "\\u" in text
    if reader.faults or has_escapes:
        _find_fault(value, read_strings=has_escapes)
    return value


def refuse(slug: str, detail: str, code: str, status: int = 422, where: str = "") -> NoReturn:
    """Raises Refused with one error. `where` is the JSON pointer of the fault."""
    raise Refused(detail, slug=slug, status=status, errors=[ProblemError(where, code, detail)])


def without_escaped_quotes(body: bytes) -> bytes:
    """Escaped backslashes, then escaped quotes dropped: the quotes left open or close a string."""
    return body.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in body else body


def outside_strings(body: bytes) -> bytes:
    """The brackets, commas, colons, numbers and literals of a body; each string is one quote."""
    # Of the pieces between quotes every second one stands inside a string.
    return b'"'.join(without_escaped_quotes(body).split(b'"')[::2])


def _check_limits(body: bytes, limits: Limits) -> None:
    """Counts before anything is built. Exact for well-formed bodies; others are refused a step later."""
    outside = outside_strings(body).translate(None, _SPACE.encode())
    openings = outside.count(b"[") + outside.count(b"{")
    # Every value but the top one follows a comma or is the first of its container.
    values = 1 + outside.count(b",") + openings - outside.count(b"[]") - outside.count(b"{}")
    if values > limits.values:
        detail = f"The body has {values} values; {limits.values} are allowed (limit: values)."
        refuse("json-limits", detail, "RAW-6", where="/limit")
    if openings > limits.depth:
        steps = memoryview(outside.translate(_STEP, _NOT_BRACKETS)).cast("b")
        depth = max(accumulate(steps))
        if depth > limits.depth:
            detail = f"The body is nested {depth} levels deep; {limits.depth} are allowed (limit: depth)."
            refuse("json-limits", detail, "RAW-6", where="/limit")


def _find_fault(top: Any, *, read_strings: bool) -> None:
    """Walks the tree and refuses at the first fault it meets. Surrogates and U+0000 come from escapes only."""
    kinds = {dict, list, _Fault, *([str] if read_strings else [])}
    stack: list[tuple[Any, Path]] = [(top, None)]
    while stack:
        item, path = stack.pop()
        kind = type(item)
        if kind is str:
            _check_text(item, path)
        elif kind is dict:
            if read_strings and _FORBIDDEN.search("".join(item)):
                for name in item:
                    _check_text(name, (path, name))
            stack.extend([(value, (path, name)) for name, value in item.items() if type(value) in kinds])
        elif kind is list:
            stack.extend([(value, (path, index)) for index, value in enumerate(item) if type(value) in kinds])
        elif kind is _Fault:
            where = path if item.name is None else (path, item.name)
            refuse(item.slug, item.detail, item.code, item.status, pointer(where))


def _check_text(text: str, path: Path) -> None:
    found = _FORBIDDEN.search(text)
    if found is None:
        return
    if found[0] == "\x00":
        detail = "A text holds U+0000, which databases refuse. Remove it."
        refuse("forbidden-character", detail, "RAW-7", where=pointer(path))
    detail = f"A text holds the lone surrogate U+{ord(found[0]):04X}. Send whole characters."
    refuse("forbidden-character", detail, "RAW-4", where=pointer(path))


def _refuse_malformed(text: str, error: json.JSONDecodeError) -> NoReturn:
    where = f"line {error.lineno}, column {error.colno}"
    start = text.lstrip(_SPACE)[:3]
    if not start:
        detail = "The body is empty. Send one JSON object."
    elif start == "```":
        detail = "The body stands in a Markdown fence. Send the JSON object alone, without the ``` lines."
    elif error.msg == "Extra data":
        detail = f"Something follows the JSON value at {where}. Send one JSON object and nothing after it."
    else:
        detail = f"The body is not JSON: {error.msg.lower()} at {where}. Correct it and send it again."
    refuse("malformed-json", detail, "RAW-8", 400)


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("no name stands twice")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}…"
