"""Printed plain values are read as data; everything else is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints.formats.python_literals import read_literal

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=100)
@given(value=plain)
def test_what_python_prints_is_read_back(value: Any) -> None:
    assert read_literal(repr(value)) == value


def test_tuples_read_as_lists() -> None:
    assert read_literal("(1, (2,), ())") == [1, [2], []]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Request(order='A')",
        "__import__('os')",
        "'a' 'b'",
        "{1: 2}",
        "{'a'}",
        "[1, 2",
        "1_000",
        "b'x'",
        "f'{x}'",
        r"'\N{BULLET}'",
        r"'\ud800'",
        r"'\x00'",
        "'\\\n'",
        "nan",
        "inf",
        "1j",
        "lambda: 0",
        "'a" + "x" * 20_000,
        "[" * 17 + "]" * 17,
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read_literal(text)
