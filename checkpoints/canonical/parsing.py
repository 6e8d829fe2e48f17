"""The strict parser: refuses whatever two JSON readers could read differently (contract §3, RAW-1 to RAW-8).

Every step is linear in the size of the body. An ordinary body takes the short way through orjson, which is taken
only where its result is provably that of the long way; whatever orjson refuses is judged by the long way.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final, NoReturn

import orjson

from checkpoints.canonical.jcs import SAFE_INTEGER
from checkpoints.canonical.pointers import Path, pointer
from checkpoints.errors import ProblemError, Refused
from checkpoints.types import JSONObject, JSONValue, Limits

_STEP: Final = bytes({0x5B: 1, 0x7B: 1, 0x5D: 0xFF, 0x7D: 0xFF}.get(byte, 0) for byte in range(256))
_NOT_BRACKETS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_EMPTY: Final = re.compile(rb"\[[ \t\r\n]*+\]|\{[ \t\r\n]*+\}")
# Sixteen digits may pass 2^53-1. `-0` is a float to orjson and the integer 0 to the long way.
_NUMBER_NEEDS_CARE: Final = re.compile(rb"[0-9]{16}|-0")
_ESCAPE_NEEDS_CARE: Final = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_FORBIDDEN: Final = re.compile("[\x00\ud800-\udfff]")


def parse(body: bytes, limits: Limits) -> JSONObject:
    """The object that the body is. Raises Refused with the RAW code of the first fault found."""
    value = parse_value(body, limits)
    if not isinstance(value, dict):
        _refuse(
            "not-an-object",
            f"The body is {_kind(value)}. A checkpoint is a JSON object: send one.",
            "RAW-8",
        )
    return value


def parse_value(body: bytes, limits: Limits) -> JSONValue:
    """Any JSON value under the same rules as `parse`."""
    if len(body) > limits.body_bytes:
        detail = (
            f"The body has {len(body)} bytes; {limits.body_bytes} are allowed. Send references, not contents."
        )
        raise Refused(
            detail,
            slug="payload-too-large",
            status=413,
            errors=[ProblemError("", "RAW-6", detail)],
            keep=False,
        )
    if body.startswith(b"\xef\xbb\xbf"):
        _refuse(
            "malformed-json", "The body begins with a byte order mark. Send UTF-8 without one.", "RAW-1", 400
        )
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        detail = f"Byte {error.start} of the body is not valid UTF-8. Encode the body as UTF-8."
        _refuse("invalid-utf8", detail, "RAW-1", 400)
    skeleton = _without_strings(body)
    _check_limits(skeleton, limits)
    if _NUMBER_NEEDS_CARE.search(skeleton) is None and _ESCAPE_NEEDS_CARE.search(body) is None:
        try:
            value: JSONValue = orjson.loads(body)
        except ValueError:
            return _parse_slowly(text)
        if _count_names(value) == skeleton.count(b":"):
            return value
    return _parse_slowly(text)


def load_trusted(body: bytes) -> JSONValue:
    """Reads bytes that `parse` accepted before. No limits: they may have been narrowed since."""
    skeleton = _without_strings(body)
    if _NUMBER_NEEDS_CARE.search(skeleton) is None:
        try:
            value: JSONValue = orjson.loads(body)
        except ValueError:
            pass
        else:
            return value
    trusted: JSONValue = json.loads(body)
    return trusted


def _without_strings(body: bytes) -> bytes:
    """The body with its strings cut out: brackets, commas, colons, numbers and literals remain.

    Dropping escaped backslashes, then escaped quotes, leaves only quotes that open or close a string; of the
    pieces between quotes every second one stands inside a string.
    """
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b'"'.join(body.split(b'"')[::2])


def _check_limits(skeleton: bytes, limits: Limits) -> None:
    """Counts before anything is built. Exact for well-formed bodies; others are refused a step later."""
    openings = skeleton.count(b"[") + skeleton.count(b"{")
    commas = skeleton.count(b",")
    # Every value but the top one is the first of its container or follows a comma.
    if 1 + commas + openings > limits.values:
        values = 1 + commas + openings - len(_EMPTY.findall(skeleton))
        if values > limits.values:
            _refuse_limit("values", f"The body has {values} values; {limits.values} are allowed.")
    if openings > limits.depth:
        steps = memoryview(skeleton.translate(_STEP, _NOT_BRACKETS)).cast("b")
        depth = max(accumulate(steps))
        if depth > limits.depth:
            _refuse_limit("depth", f"The body is nested {depth} levels deep; {limits.depth} are allowed.")


def _count_names(value: JSONValue) -> int:
    """Members of all objects. Fewer than there are colons in the text: a name came twice."""
    count = 0
    stack: list[JSONValue] = [value]
    while stack:
        item = stack.pop()
        if type(item) is dict:
            count += len(item)
            stack.extend(item.values())
        elif type(item) is list:
            stack.extend(item)
    return count


class _Fault:
    """Stands in the parsed tree where a fault was, so that the walk can say where that is."""

    __slots__ = ("children", "code", "detail", "name", "slug", "status")

    def __init__(self, slug: str, code: str, detail: str, status: int = 422) -> None:
        self.slug = slug
        self.code = code
        self.detail = detail
        self.status = status
        self.name: str | None = None
        self.children: list[tuple[str, Any]] = []


def _parse_slowly(text: str) -> JSONValue:
    """The reference: the standard library's parser with every laxity closed."""
    faults: list[_Fault] = []

    def fault(slug: str, code: str, detail: str, status: int = 422) -> _Fault:
        faults.append(_Fault(slug, code, detail, status))
        return faults[-1]

    try:
        value = json.loads(
            text,
            object_pairs_hook=_pairs_reader(fault),
            parse_int=_int_reader(fault),
            parse_float=_float_reader(fault),
            parse_constant=lambda name: fault(
                "malformed-json", "RAW-3", f"{name} is not JSON. Send null or a string instead.", 400
            ),
        )
    except json.JSONDecodeError as error:
        _refuse_malformed(text, error)
    if faults or "\\u" in text:
        _find_fault(value)
    return value  # type: ignore[no-any-return]


type _Report = Callable[..., _Fault]


def _pairs_reader(fault: _Report) -> Callable[[list[tuple[str, Any]]], Any]:
    def read(pairs: list[tuple[str, Any]]) -> Any:
        members = dict(pairs)
        if len(members) == len(pairs):
            return members
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        found = fault(
            "duplicate-key", "RAW-2", f"The name {_quote(twice)} stands twice in one object. Send it once."
        )
        found.name = twice
        found.children = pairs
        return found

    return read


def _int_reader(fault: _Report) -> Callable[[str], Any]:
    def read(digits: str) -> Any:
        if len(digits) <= 17 and -SAFE_INTEGER <= (number := int(digits)) <= SAFE_INTEGER:
            return number
        detail = (
            f"The integer {_shorten(digits)} is outside ±(2^53-1); readers would round it differently. "
            "Send it as a string."
        )
        return fault("number-out-of-range", "RAW-5", detail)

    return read


def _float_reader(fault: _Report) -> Callable[[str], Any]:
    def read(digits: str) -> Any:
        number = float(digits)
        if math.isfinite(number):
            return number
        detail = f"The number {_shorten(digits)} does not fit a 64-bit float. Send it as a string."
        return fault("number-out-of-range", "RAW-3", detail)

    return read


def _find_fault(top: Any) -> None:
    """Walks in document order and refuses at the first fault, with its pointer."""
    stack: list[tuple[Any, Path]] = [(top, None)]
    while stack:
        item, path = stack.pop()
        if isinstance(item, str):
            _check_text(item, path)
        elif isinstance(item, list):
            stack.extend((item[index], (path, index)) for index in range(len(item) - 1, -1, -1))
        elif isinstance(item, dict):
            for name in item:
                _check_text(name, (path, name))
            stack.extend((value, (path, name)) for name, value in reversed(item.items()))
        elif isinstance(item, _Fault):
            where = path if item.name is None else (path, item.name)
            _refuse(item.slug, item.detail, item.code, item.status, pointer(where))


def _check_text(text: str, path: Path) -> None:
    found = _FORBIDDEN.search(text)
    if found is None:
        return
    if found[0] == "\x00":
        detail = "A text holds U+0000, which databases refuse. Remove it."
        _refuse("forbidden-character", detail, "RAW-7", 422, pointer(path))
    detail = f"A text holds the lone surrogate U+{ord(found[0]):04X}. Send whole characters."
    _refuse("forbidden-character", detail, "RAW-4", 422, pointer(path))


def _refuse_malformed(text: str, error: json.JSONDecodeError) -> NoReturn:
    where = f"line {error.lineno}, column {error.colno}"
    if not text.strip(" \t\r\n"):
        detail = "The body is empty. Send one JSON object."
    elif text.lstrip().startswith("```"):
        detail = "The body stands in a Markdown fence. Send the JSON object alone, without the ``` lines."
    elif error.msg == "Extra data":
        detail = f"Something follows the JSON value at {where}. Send one JSON object and nothing after it."
    else:
        detail = f"The body is not JSON: {error.msg.lower()} at {where}. Correct the body and send it again."
    _refuse("malformed-json", detail, "RAW-8", 400)


def _refuse_limit(limit: str, detail: str) -> NoReturn:
    _refuse("json-limits", f"{detail} (limit: {limit})", "RAW-6", 422, "/limit")


def _refuse(slug: str, detail: str, code: str, status: int = 422, where: str = "") -> NoReturn:
    raise Refused(detail, slug=slug, status=status, errors=[ProblemError(where, code, detail)])


def _kind(value: JSONValue) -> str:
    names = {list: "an array", str: "a string", bool: "a literal", int: "a number", float: "a number"}
    return names.get(type(value), "null")


def _shorten(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}…"


def _quote(text: str) -> str:
    return json.dumps(_shorten(text))
