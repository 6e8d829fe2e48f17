"""Whether two JSON values are the same value, without their text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

_NUMBERS = (int, float, Decimal)


def same_value(left: Any, right: Any) -> bool:
    """Equal as JSON: `1` is `1.0` but not `true`, the order of members does not count. Never recurses."""
    if left is right:
        return True
    if type(left) is str or type(right) is str:
        return bool(left == right)
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
        return _same_number(one, other)
    return type(one) is type(other) and bool(one == other)


def _same_number(one: float | Decimal, other: float | Decimal) -> bool:
    """A float knows no more than its nearest double, so it is compared as one; two exact numbers exactly."""
    if isinstance(one, float) or isinstance(other, float):
        return _as_double(one) == _as_double(other)
    return one == other


def _as_double(number: float | Decimal) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer beyond every double is like none of them
        return float("nan")
