"""Exact slices: the bytes of an item are those that were sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkpoints.canonical import item_slices, member_slice, parse_value
from checkpoints.types import Limits


def test_items_are_cut_exactly_as_they_were_written() -> None:
    items = [
        b'{ "a" : [1, {"items":[9]}] , "b":"\\u00e9 \\"],}\\\\" }',
        b"1.50",
        b'"\xc3\xa9\xf0\x9f\x98\x80"',
        b"null",
        b"[ ]",
        b"-1e+5",
        b"{\n}",
    ]
    body = b' { "x" : "items" , "items" : [ ' + b" ,\t".join(items) + b' ] , "y" : [3] } '
    assert item_slices(body) == items
    assert member_slice(body, "y") == b"[3]"
    assert member_slice(body, "x") == b'"items"'
    assert member_slice(body, "z") is None


@pytest.mark.parametrize(
    "body", [b"{}", b'{"items":[]}', b'{"items":{}}', b'{"items":"[1]"}', b'{"a":{"items":[1]}}']
)
def test_without_items_there_are_no_slices(body: bytes) -> None:
    assert item_slices(body) == []


def test_a_name_written_with_escapes_is_the_same_name() -> None:
    assert member_slice(rb'{"p\u0061yload":{"a": 1}}', "payload") == b'{"a": 1}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@settings(max_examples=50)
@given(
    items=st.lists(json_values, max_size=5),
    others=st.dictionaries(st.text(), json_values, max_size=3),
    ascii_only=st.booleans(),
    indent=st.sampled_from([None, 0, 2]),
)
def test_slices_hold_the_values(
    items: list[Any], others: dict[str, Any], ascii_only: bool, indent: int | None
) -> None:
    body = json.dumps(others | {"items": items}, ensure_ascii=ascii_only, indent=indent).encode()
    slices = item_slices(body)
    assert [json.loads(part) for part in slices] == items
    assert all(part in body for part in slices)


def test_a_slice_is_parsed_like_a_body_of_its_own() -> None:
    body = b'{"items":[{"a":1.0},{"b":2}]}'
    assert [parse_value(part, Limits()) for part in item_slices(body)] == [{"a": 1.0}, {"b": 2}]
