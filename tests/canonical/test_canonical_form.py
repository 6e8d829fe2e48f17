"""RFC 8785: our bytes are those of the reference implementation, whichever way they were made."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import orjson
import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkpoints.canonical import canonicalize, digest, digest_bytes, parse
from checkpoints.errors import Refused
from checkpoints.types import Limits
from tests.samples import SHARED_DATA, shared

needs_numbers = pytest.mark.skipif(
    not (SHARED_DATA / "jcs").is_dir(), reason="no number vectors: set SHARED_DATA to read them"
)

numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
names = st.text() | st.text(st.sampled_from("aé\u20ac\ud7ff\ue000\uffff\U00010000\U0001f600"), max_size=3)
values = st.recursive(
    st.none() | st.booleans() | numbers | st.text(),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(names, inner, max_size=6),
    max_leaves=30,
)


@settings(max_examples=80)
@given(value=values)
@example(value={"\ufb33": 1, "\U0001f600": 2})
@example(value=[1.0, -0.0, 1e16, 1e20, 1e21, 1e-6, 1e-7, 0.1, 149.5, 1e-4, 123456789012345.6])
@example(value={"é": {"\ue000": 1, "\U00010000": 2}})
def test_the_bytes_are_those_of_rfc8785(value: Any) -> None:
    assert canonicalize(value) == rfc8785.dumps(value)


@given(number=st.floats(1e-5, 1e16) | st.floats(-1e16, -1e-5))
def test_ordinary_floats_are_written_alike(number: float) -> None:
    assert canonicalize([number]) == rfc8785.dumps([number])


@settings(max_examples=50)
@given(value=values)
def test_canonical_bytes_read_back_and_stay(value: Any) -> None:
    once = canonicalize(value)
    # A float past 2^53 is written without a point: it has to be read as the float it was.
    assert canonicalize(json.loads(once, parse_int=float)) == once


@settings(max_examples=50)
@given(value=st.dictionaries(names, numbers | st.text(), max_size=6), data=st.data())
def test_the_order_of_members_changes_no_digest(value: dict[str, Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(list(value.items())))
    assert digest(dict(shuffled)) == digest(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": 1, "a": None}, b'{"a":null,"b":1}'),
        ([1.0, -0.0, 0, 1e21, 1e-7, 0.000001], b"[1,0,0,1e+21,1e-7,0.000001]"),
        ('\x00\x1f\x7f\u2028/"\\\n', rb'"\u0000\u001f' + "\x7f\u2028".encode() + rb'/\"\\\n"'),
        ({"\ufb33": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1}'.encode()),
        ("e\u0301", '"e\u0301"'.encode()),
        ("\u00e9", '"\u00e9"'.encode()),
        ({}, b"{}"),
        (None, b"null"),
    ],
)
def test_known_forms(value: Any, written: bytes) -> None:
    assert canonicalize(value) == written


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 2**53, -(2**53), "\ud800", {"\ud800": 1}], ids=repr
)
def test_what_rfc_8785_cannot_say_is_an_error(value: Any) -> None:
    nestings: list[Any] = [value, [value], {"a": [value]}]
    for nested in nestings:
        with pytest.raises(ValueError, match=r".+"):
            canonicalize(nested)


def test_digests_have_one_text_form() -> None:
    assert digest({}) == "sha256:" + hashlib.sha256(b"{}").hexdigest()
    assert digest_bytes(b"{ }") == "sha256:" + hashlib.sha256(b"{ }").hexdigest()


@pytest.mark.parametrize("file", shared("jcs/input"))
def test_official_documents(file: Path) -> None:
    expected = (file.parent.parent / "output" / file.name).read_bytes()
    assert canonicalize(json.loads(file.read_bytes())) == expected


@needs_numbers
def test_official_numbers() -> None:
    lines = (SHARED_DATA / "jcs" / "es6numbers_10000.txt").read_text().split()
    for line in lines:
        bits, written = line.split(",")
        assert canonicalize(_float_of(bits)) == written.encode(), line


@needs_numbers
def test_appendix_b_numbers() -> None:
    rows = orjson.loads((SHARED_DATA / "jcs" / "rfc8785_appendix_b_numbers.json").read_bytes())
    for row in rows:
        number, expected = _float_of(row["ieee754"]), row["expected"]
        if expected == "error":
            with pytest.raises(ValueError, match=r".+"):
                canonicalize(number)
        else:
            assert canonicalize(number) == expected.encode(), row


@pytest.mark.skipif(not (SHARED_DATA / "jcs").is_dir(), reason="no pitfalls: set SHARED_DATA to read them")
def test_known_pitfalls_from_text_to_bytes() -> None:
    cases = orjson.loads((SHARED_DATA / "jcs" / "pitfall_cases.json").read_bytes())["cases"]
    for case in cases:
        body = case["raw"].encode()
        # U+0000 is canonical JSON, but no database of ours holds it.
        if case["expect"] == "reject" or rb"\u0000" in body:
            with pytest.raises(Refused):
                parse(body, Limits())
        else:
            assert canonicalize(parse(body, Limits())) == case["expect"].encode(), case["id"]


def _float_of(bits: str) -> float:
    return float(struct.unpack(">d", bytes.fromhex(bits.zfill(16)))[0])
