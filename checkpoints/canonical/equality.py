"""Whether two JSON values are the same value, without their text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

_NUMBERS = (int, float, Decimal)


def same_value(left: Any, right: Any) -> bool:
    """Equal as JSON: `1` is `1.0` but not `true`, the order of members does not count. Never recurses."""
    stack = [(left, right)]
    while stack:
        one, other = stack.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            stack.extend((value, other[name]) for name, value in one.items())
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            stack.extend(zip(one, other, strict=True))
        elif not _same_scalar(one, other):
            return False
    return True


def _same_scalar(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, _NUMBERS) and isinstance(other, _NUMBERS):
        return bool(one == other)
    return type(one) is type(other) and bool(one == other)
