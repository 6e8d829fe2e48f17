"""Strict parsing: refuses whatever two JSON readers could read differently (contract §3, RAW-1 to RAW-8).

An ordinary body takes the short way through orjson, where its value is certain to be the strict parser's; every
other body, and every refusal, is the strict parser's. All steps are linear in the size of the body.
"""

from __future__ import annotations

import json
from typing import Any, Final

import orjson

from checkpoints.canonical.strict import outside_strings, parse_strictly, refuse, without_escaped_quotes
from checkpoints.errors import ProblemError, Refused
from checkpoints.types import JSONObject, JSONValue, Limits

_DIGITS: Final = bytes.maketrans(b"123456789", b"0" * 9)
_SIXTEEN_DIGITS: Final = b"0" * 16
_UNSURE: Final = object()


def parse(body: bytes, limits: Limits) -> JSONObject:
    """The object that the body is. Raises Refused with the RAW code of the first fault found."""
    value = parse_value(body, limits)
    if not isinstance(value, dict):
        kinds = {list: "an array", str: "a string", bool: "a literal", int: "a number", float: "a number"}
        detail = f"The body is {kinds.get(type(value), 'null')}. A checkpoint is a JSON object: send one."
        refuse("not-an-object", detail, "RAW-8")
    return value


def parse_value(body: bytes, limits: Limits) -> JSONValue:
    """Any JSON value under the same rules as `parse`."""
    if len(body) > limits.body_bytes:
        detail = (
            f"The body has {len(body)} bytes; {limits.body_bytes} are allowed. Send references, not contents."
        )
        error = ProblemError("", "RAW-6", detail)
        raise Refused(detail, slug="payload-too-large", status=413, errors=[error], keep=False)
    value = _parse_quickly(body, limits)
    if value is _UNSURE:
        value = parse_strictly(body, limits)
    return value  # type: ignore[no-any-return]


def load_trusted(body: bytes) -> JSONValue:
    """Reads bytes that `parse` accepted before. No limits: they may have been narrowed since."""
    value = _parse_quickly(body, Limits(len(body), len(body), len(body) + 1))
    if value is _UNSURE:
        value = json.loads(body)
    return value  # type: ignore[no-any-return]


def _parse_quickly(body: bytes, limits: Limits) -> Any:
    """orjson's value where it is certain to be the strict parser's; `_UNSURE` in every other case.

    orjson is as strict but for three things: it rounds large integers, so no sixteen digits may stand in a row
    outside a string; it keeps the last of two equal names, so it must have found as many strings as the text
    holds; and it takes U+0000.
    """
    if 1 + body.count(b",") + body.count(b"[") + body.count(b"{") > limits.values or b"\\u0000" in body:
        return _UNSURE
    if _SIXTEEN_DIGITS in body.translate(_DIGITS) and _SIXTEEN_DIGITS in outside_strings(body).translate(
        _DIGITS
    ):
        return _UNSURE
    try:
        value = orjson.loads(body)
    except ValueError:
        return _UNSURE
    strings, depth = _measure(value)
    if depth > limits.depth or 2 * strings != without_escaped_quotes(body).count(b'"'):
        return _UNSURE
    return value


def _measure(value: Any) -> tuple[int, int]:
    """(strings, depth) of a value. Names count as strings."""
    strings = depth = deepest = 0
    level = [value]
    while level:
        depth += 1
        following: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str:
                strings += 1
            elif kind is dict:
                deepest = depth
                strings += len(item)
                following.extend(item.values())
            elif kind is list:
                deepest = depth
                following.extend(item)
        level = following
    return strings, deepest
