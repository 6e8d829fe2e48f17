"""Two values are the same when JSON says so, not when Python does."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkpoints.canonical import canonicalize
from checkpoints.canonical.equality import same_value

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.0, -0.0, 1.0, 1.5, "", "1", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (0, False, False),
        (0, None, False),
        ("1", 1, False),
        ("", None, False),
        ({}, [], False),
        ({"a": [1, {"b": True}]}, {"a": [1.0, {"b": True}]}, True),
        ({"a": [1, {"b": True}]}, {"a": [1, {"b": 1}]}, False),
        ({"a": None}, {}, False),
        ([1, 2], [1, 2, 3], False),
        (Decimal("1.10"), 1.1, True),
        (Decimal("1.1"), Decimal("1.10"), True),
        (Decimal("1e400"), 10**400, True),
        (10**400, 1.5, False),
        (10**20, 10**20 + 1, False),
    ],
)
def test_numbers_words_and_nothing_are_told_apart(one: Any, other: Any, same: bool) -> None:
    assert same_value(one, other) is same
    assert same_value(other, one) is same


@given(one=VALUES, other=VALUES)
def test_values_are_the_same_exactly_when_their_canonical_text_is(one: Any, other: Any) -> None:
    assert same_value(one, other) is (canonicalize(one) == canonicalize(other))


def test_depth_is_no_limit() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]

    assert same_value([deep], [deep])
    assert not same_value([deep, 1], [deep, True])
