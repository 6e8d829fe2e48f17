"""What is printed: one JSON object a line for each figure."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any


def show(name: str, value: float, unit: str, **more: Any) -> None:
    """Print one figure. Members called `ratio…` compare within this run; only those mean something elsewhere."""
    rounded = {key: _rounded(item) for key, item in more.items()}
    print(json.dumps({"name": name, "value": _rounded(value), "unit": unit, **rounded}), flush=True)


def rounds(most: int, seconds: float) -> Iterator[int]:
    """Numbers of interleaved rounds, from 0: `most`, or fewer (but one) where a slow machine needs more time than
    `seconds` for them."""
    ends = time.monotonic() + seconds
    for number in range(most):
        if number and time.monotonic() > ends:
            return
        yield number


def ratio(ours: Sequence[float], others: Sequence[float]) -> float:
    """The median of the rounds' ratios: what disturbs a round disturbs both of its sides."""
    return statistics.median(mine / other for mine, other in zip(ours, others, strict=True))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 3) if abs(value) < 100 else round(value, 1)
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value
