"""The strict parser: what it refuses, with which slug, code and pointer, and that its two ways agree."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checkpoints.canonical import load_trusted, parse, parse_value
from checkpoints.canonical.parsing import _UNSURE, _parse_quickly
from checkpoints.canonical.strict import parse_strictly
from checkpoints.errors import Refused
from checkpoints.types import Limits

LIMITS = Limits()


def refusal(body: bytes, limits: Limits = LIMITS) -> tuple[int, str, str, str]:
    """(status, slug, code, pointer) of a body that must be refused."""
    with pytest.raises(Refused) as caught:
        parse(body, limits)
    (error,) = caught.value.errors
    assert error.detail.endswith((".", ")."))
    return caught.value.status, caught.value.slug, error.code, error.pointer


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \r\n\t ",
        b'{"a":1,}',
        b'{"a":1} x',
        b'{"a":1}{"a":1}',
        b'{"a":1}\x00',
        b'{"a":1',
        b'{"a":"b',
        b'{"a":"b\\',
        b'{"a" 1}',
        b'{/* no */"a":1}',
        b'{"a":1 // no\n}',
        b"{'a':1}",
        b"{a:1}",
        b'{"a":01}',
        b'{"a":+1}',
        b'{"a":.5}',
        b'{"a":1.}',
        b'{"a":1e}',
        b'{"a":0x1F}',
        b'{"a":True}',
        b'{"a":"\\x41"}',
        b'{"a":"\\u12"}',
        b'{"a":"a\nb"}',
        b'{"a":"a\x00b"}',
        b'{"a":"a\tb"}',
        b'{\xc2\xa0"a":1}',
        b'```json\n{"a":1}\n```',
        b"]",
        b"}{",
        b"\x00",
    ],
)
def test_what_is_no_json_is_malformed(body: bytes) -> None:
    assert refusal(body) == (400, "malformed-json", "RAW-8", "")


def test_a_markdown_fence_is_named() -> None:
    with pytest.raises(Refused, match="Markdown fence"):
        parse(b'```json\n{"a":1}\n```', LIMITS)


def test_a_byte_order_mark_is_malformed() -> None:
    assert refusal(b"\xef\xbb\xbf{}") == (400, "malformed-json", "RAW-1", "")


@pytest.mark.parametrize(
    "text", [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3", b"\x80"], ids=str
)
def test_bytes_that_are_no_utf_8_are_named_by_position(text: bytes) -> None:
    assert refusal(b'{"a":"' + text + b'"}') == (400, "invalid-utf8", "RAW-1", "")
    with pytest.raises(Refused, match="Byte 6 of the body"):
        parse(b'{"a":"' + text + b'"}', LIMITS)


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity"])
def test_numbers_that_json_does_not_have_are_malformed(literal: bytes) -> None:
    assert refusal(b'{"a":[' + literal + b"]}") == (400, "malformed-json", "RAW-3", "/a/0")


@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"1E+999", b"1" + b"0" * 400 + b".0"])
def test_a_number_no_float_can_hold_is_out_of_range(number: bytes) -> None:
    assert refusal(b'{"a":{"b/c":' + number + b"}}") == (422, "number-out-of-range", "RAW-3", "/a/b~1c")


@pytest.mark.parametrize(
    "number", [str(2**53), str(-(2**53)), str(2**64), "9007199254740993", "9" * 5000, "1" + "0" * 16]
)
def test_an_integer_past_53_bits_is_out_of_range(number: str) -> None:
    assert refusal(f'{{"a":[0,{number}]}}'.encode()) == (422, "number-out-of-range", "RAW-5", "/a/1")


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (str(2**53 - 1), 2**53 - 1),
        (str(1 - 2**53), 1 - 2**53),
        ("1e20", 1e20),
        ("9007199254740993.0", 9007199254740992.0),
        ("1e-400", 0.0),
        ("-0", 0),
        ("0.1", 0.1),
        ("1.0", 1.0),
    ],
)
def test_other_numbers_keep_value_and_type(written: str, value: float) -> None:
    found = parse(f'{{"a":{written}}}'.encode(), LIMITS)["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        (b'{"checkpoint_id":"a","b":1,"checkpoint_id":"a"}', "/checkpoint_id"),
        (b'{"x":[{"a":1},{"a":1,"\\u0061":2}]}', "/x/1/a"),
        (b'{"m~n/o":1,"m~n/o":1}', "/m~0n~1o"),
        (b'{"":1,"":1}', "/"),
        (b'{"a":{"b":"","b":""}}', "/a/b"),
    ],
)
def test_a_name_that_stands_twice_is_found(body: bytes, pointer: str) -> None:
    assert refusal(body) == (422, "duplicate-key", "RAW-2", pointer)


@pytest.mark.parametrize("text", [r"\ud800", r"\udc00", r"\udc00\ud800", r"\uD83D", r"a\ud83dA"])
def test_a_lone_surrogate_is_forbidden_in_text_and_name(text: str) -> None:
    assert refusal(f'{{"a":["{text}"]}}'.encode()) == (422, "forbidden-character", "RAW-4", "/a/0")
    status, slug, code, pointer = refusal(f'{{"b":{{"{text}":1}}}}'.encode())
    assert (status, slug, code) == (422, "forbidden-character", "RAW-4")
    assert pointer.startswith("/b/")
    pointer.encode()


def test_u_0000_is_forbidden_in_text_and_name() -> None:
    assert refusal(rb'{"a":"x\u0000"}') == (422, "forbidden-character", "RAW-7", "/a")
    assert refusal(rb'{"\u0000":1}') == (422, "forbidden-character", "RAW-7", r"/\u0000")


def test_a_written_backslash_before_u0000_is_harmless() -> None:
    assert parse(rb'{"a":"\\u0000"}', LIMITS) == {"a": r"\u0000"}


def test_escaped_pairs_and_other_characters_pass() -> None:
    text = "\U0001f600 é \u2028 \x7f \u202e"
    assert parse(json.dumps({text: text}).encode(), LIMITS) == {text: text}
    assert parse(json.dumps({text: text}, ensure_ascii=False).encode(), LIMITS) == {text: text}


@pytest.mark.parametrize(("pair", "value"), [(b"[]", b"1"), (b"{}", b'"a":1')], ids=["arrays", "objects"])
def test_sixty_four_levels_pass_and_sixty_five_do_not(pair: bytes, value: bytes) -> None:
    def nested(levels: int) -> bytes:
        opening = (b'{"a":' if pair == b"{}" else b"[") * (levels - 1) + pair[:1]
        return opening + value + pair[1:] * levels

    parse_value(nested(64), LIMITS)
    parse_value(nested(64).replace(value, value + b"," + value.replace(b"a", b"b")), LIMITS)
    with pytest.raises(Refused) as caught:
        parse_value(nested(65), LIMITS)
    assert (caught.value.status, caught.value.slug) == (422, "json-limits")
    assert caught.value.errors[0].pointer == "/limit"
    assert "65 levels" in caught.value.detail
    assert "limit: depth" in caught.value.detail


def test_an_empty_container_counts_as_a_level() -> None:
    parse_value(b"[" * 64 + b"]" * 64, LIMITS)
    with pytest.raises(Refused, match="limit: depth"):
        parse_value(b"[" * 65 + b"]" * 65, LIMITS)


def values(value: Any) -> int:
    """The literal rule of counting: every object, array, string, number and literal; names are not counted."""
    if isinstance(value, dict):
        return 1 + sum(values(item) for item in value.values())
    return 1 + sum(values(item) for item in value) if isinstance(value, list) else 1


@pytest.mark.parametrize(
    ("item", "worth"),
    [(b"0", 1), (b"[]", 1), (b"{ }", 1), (b'"[,{"', 1), (b'{"a":1,"b":[2]}', 4), (b'"\\",{"', 1)],
    ids=str,
)
def test_one_hundred_thousand_values_pass_and_one_more_does_not(item: bytes, worth: int) -> None:
    count, rest = divmod(99_999, worth)
    full = b"[" + b",".join([item] * count + [b"1"] * rest) + b"]"
    parsed = parse_value(full, LIMITS)
    assert values(parsed) == 100_000
    with pytest.raises(Refused) as caught:
        parse_value(full[:-1] + b",1]", LIMITS)
    assert (caught.value.slug, caught.value.errors[0].code) == ("json-limits", "RAW-6")
    assert "100001 values" in caught.value.detail
    assert "limit: values" in caught.value.detail


def test_names_are_not_counted_as_values() -> None:
    body = b"{" + b",".join(b'"%d":1' % number for number in range(999)) + b"}"
    assert len(parse(body, Limits(values=1000))) == 999
    with pytest.raises(Refused, match="limit: values"):
        parse(body[:-1] + b',"m":1}', Limits(values=1000))


def test_one_byte_too_many_is_too_large_and_not_kept() -> None:
    body = b'{"a":"' + b"x" * ((1 << 20) - 8) + b'"}'
    assert len(body) == 1 << 20
    parse(body, LIMITS)
    with pytest.raises(Refused) as caught:
        parse(body + b" ", LIMITS)
    assert (caught.value.status, caught.value.slug, caught.value.keep) == (413, "payload-too-large", False)


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"1", b"1.5", b"null", b"true", b"[{}]"], ids=str)
def test_anything_but_an_object_is_refused_but_is_a_value(body: bytes) -> None:
    assert refusal(body) == (422, "not-an-object", "RAW-8", "")
    assert parse_value(body, LIMITS) == json.loads(body)


def test_a_refusal_does_not_echo_long_input() -> None:
    for body in (
        b'{"a":' + b"7" * 9000 + b"}",
        b'{"a":1' + b"0" * 9000 + b".0}",
        json.dumps({"k" * 9000: 1})[:-1].encode() + b',"' + b"k" * 9000 + b'":1}',
    ):
        with pytest.raises(Refused) as caught:
            parse(body, LIMITS)
        assert len(caught.value.detail) < 200


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=25,
)

# Well-formed texts, some of which no strict reader takes: names that stand twice, numbers of every kind, escapes.
# fmt: off
scalar_texts = st.sampled_from([
    "0", "-0", "-0.0", "1", "1.0", "1e5", "1e400", "9007199254740991", "9007199254740993", "9007199254740993.0",
    "18446744073709551616", "null", "true", "NaN", "-Infinity", '""', '"a"', '"1234567890123456"', r'"\u0000"',
    r'"\\u0000"', r'"\ud800"', r'"\ud83d\ude00"', r'"\\"', r'"\""', r'"\\\""', '"é"', '"[,{:"',
])
name_texts = st.sampled_from(['""', '"a"', '"b"', r'"\u0061"', r'"\\"', r'"\""', r'"a\""', r'"\u0000"', '"é"', '":"'])
marks = st.sampled_from(["{", "}", "[", "]", ",", ":", '"', "\\", "\ufeff", "\x00", "\n"])
# fmt: on
json_texts = st.recursive(
    scalar_texts,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: "[" + " ,".join(items) + "]")
        | st.lists(st.tuples(name_texts, inner), max_size=4).map(
            lambda pairs: "{" + ",".join(f"{name}: {value}" for name, value in pairs) + "}"
        )
    ),
    max_leaves=12,
)
# The same pieces in any order: nearly all malformed.
torn_texts = st.lists(marks | scalar_texts | name_texts, max_size=12).map("".join)


def strictly(body: bytes, limits: Limits) -> Any:
    try:
        return parse_strictly(body, limits)
    except Refused as refused:
        return (refused.slug, refused.errors)


@settings(max_examples=60)
@given(value=json_values, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_a_written_value_is_read_back_by_both_ways(value: Any, ascii_only: bool, indent: int | None) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode("utf-8", "surrogatepass")
    expected = strictly(body, LIMITS)
    if isinstance(expected, tuple):  # the text held U+0000
        assert _parse_quickly(body, LIMITS) is _UNSURE
    else:
        # `repr` tells 1 from 1.0 and 0.0 from -0.0.
        assert repr(parse_value(body, LIMITS)) == repr(expected) == repr(json.loads(body))
        assert repr(load_trusted(body)) == repr(expected)


@settings(max_examples=200)
@given(text=json_texts | torn_texts, depth=st.integers(1, 5), values=st.integers(1, 12))
@example(text='{"a":1,"a":1}', depth=5, values=12)
@example(text="[[1],{}]", depth=1, values=12)
@example(text='{"a":"\\\\","a":"\\\\"}', depth=5, values=12)
def test_the_fast_way_never_differs_from_the_strict_one(text: str, depth: int, values: int) -> None:
    body = text.encode()
    limits = Limits(depth=depth, values=values)
    fast = _parse_quickly(body, limits)
    if fast is not _UNSURE:
        assert repr(fast) == repr(strictly(body, limits))


@given(body=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    found = strictly(body, LIMITS)
    if isinstance(found, tuple):
        with pytest.raises(Refused) as caught:
            parse_value(body, LIMITS)
        assert (caught.value.slug, caught.value.errors) == found
    else:
        assert parse_value(body, LIMITS) == orjson.loads(body)


def test_ordinary_bodies_take_the_fast_way() -> None:
    body = json.dumps({"order": "1234567890123456", "note": 'a \\ "b" \U0001f600', "sum": [1, 2.5]}).encode()
    assert _parse_quickly(body, LIMITS) is not _UNSURE
