"""Hostile bodies of up to 1 MiB: the time to an answer grows with the size, not with its square.

Each case is measured at two sizes. A quadratic step would take sixteen times as long at four times the size.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from checkpoints.canonical import item_slices, member_slice, parse_value
from checkpoints.errors import Refused
from checkpoints.formats.python_literals import read_literal
from checkpoints.types import Limits

MIB = 1 << 20
WORST_SECONDS = 1.0  # many times what is measured on an idle machine, far below what a quadratic step takes


def fill(unit: bytes, size: int, before: bytes = b"", after: bytes = b"") -> bytes:
    return before + unit * ((size - len(before) - len(after)) // len(unit)) + after


CASES: dict[str, Callable[[int], bytes]] = {
    "escaped quotes, unterminated": lambda size: fill(b'\\"', size, b'"'),
    "escaped quotes and a backslash": lambda size: fill(b'\\"', size, b'{"a":"', b"\\"),
    "many unterminated strings": lambda size: fill(b'"a', size),
    "backslashes": lambda size: fill(b"\\\\", size, b'["', b'"]'),
    "arrays in arrays": lambda size: fill(b"[", size // 2) + fill(b"]", size // 2),
    "objects in objects": lambda size: fill(b'{"a":', size),
    "closing brackets": lambda size: fill(b"]", size, b"["),
    "empty arrays": lambda size: fill(b"[],", size, b"[", b"[]]"),
    "brackets in a string": lambda size: fill(b"[{", size, b'["', b'"]'),
    "spaces": lambda size: fill(b" ", size, b"[", b"]"),
    "brackets and spaces": lambda size: fill(b"[ ", size),
    "line breaks": lambda size: fill(b"\n", size),
    "digits": lambda size: fill(b"9", size, b"[", b"]"),
    "decimals": lambda size: fill(b"9", size, b"[0.", b"]"),
    "a long float": lambda size: fill(b"0", size, b"[1", b".0]"),
    "an exponent": lambda size: fill(b"9", size, b"[1e-", b"]"),
    "zeros": lambda size: fill(b"-0,", size, b"[", b"0]"),
    "long floats": lambda size: fill(b"0." + b"7" * 800 + b",", size, b"[", b"0]"),
    "escaped surrogates": lambda size: fill(rb"\ud800", size, b'{"', b'":1}'),
    "small objects": lambda size: fill(b'{"a":1},', min(size, 390_000), b"[", b"{}]"),
    "a repeated name at the end": lambda size: fill(b'{"a":1},', min(size, 390_000), b"[", b'{"a":1,"a":2}]'),
    "names": lambda size: b"{" + b",".join(b'"%d":1' % n for n in range(size // 12)) + b',"0":1}',
    "colons": lambda size: fill(b":", size),
    "a fence": lambda size: fill(b"{}", size, b"```json\n"),
}


def seconds(act: Callable[[], object]) -> float:
    """Processor time of the best of three runs: other work on the machine does not count."""
    best = float("inf")
    for _ in range(3):
        start = time.thread_time()
        with suppress(Refused, ValueError):
            act()
        best = min(best, time.thread_time() - start)
    return best


@pytest.mark.parametrize("name", CASES)
def test_hostile_bodies_are_answered_in_linear_time(name: str) -> None:
    small, large = CASES[name](MIB // 4), CASES[name](MIB)
    quick = seconds(lambda: parse_value(small, Limits()))
    slow = seconds(lambda: parse_value(large, Limits()))
    assert slow < WORST_SECONDS
    # Short times say nothing about growth.
    assert slow < 0.1 or slow < 10 * quick


def test_slicing_a_batch_takes_linear_time() -> None:
    item = b'{"session_id":"s","payload":{"text":"' + b"x" * 500 + b'"}}'
    small = fill(item + b",", MIB // 4, b'{"items":[', item + b"]}")
    large = fill(item + b",", MIB, b'{"items":[', item + b"]}")
    assert seconds(lambda: item_slices(large)) < max(0.1, 10 * seconds(lambda: item_slices(small)))
    assert seconds(lambda: member_slice(large, "items")) < WORST_SECONDS


@pytest.mark.parametrize("text", ["(" * 20_000, "'" + "\\'" * 9_000, "{'a': " * 3_000, "-" * 20_000])
def test_printed_values_are_refused_quickly(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_literal(text)
    assert seconds(lambda: read_literal(text)) < WORST_SECONDS
