"""Exact byte slices of a parsed body: what was received, not what a serialiser would make of it.

Both functions take bodies that `parse` accepted. UTF-8 decoding is one to one, so a slice of the text is a
slice of the bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

# Numbers stay text: only their extent matters here.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def member_slice(body: bytes, name: str) -> bytes | None:
    """The bytes of one top-level member's value; None where the object has no such member."""
    text = body.decode()
    for found, start, end in _members(text):
        if found == name:
            return text[start:end].encode()
    return None


def item_slices(body: bytes) -> list[bytes]:
    """The bytes of each element of the top-level array member `items`; [] where there is no such array."""
    text = body.decode()
    for name, start, _ in _members(text):
        if name == "items" and text[start] == "[":
            return [text[first:last].encode() for first, last in _elements(text, start)]
    return []


def _members(text: str) -> Iterator[tuple[str, int, int]]:
    """(name, start, end) of each member of the object that the text is."""
    index = _skip(text, _skip(text, 0) + 1)
    while text[index] != "}":
        name, index = _DECODER.raw_decode(text, index)
        start = _skip(text, _skip(text, index) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield name, start, end
        index = _skip(text, end)
        if text[index] == ",":
            index = _skip(text, index + 1)


def _elements(text: str, start: int) -> Iterator[tuple[int, int]]:
    """(start, end) of each element of the array that begins at `start`."""
    index = _skip(text, start + 1)
    while text[index] != "]":
        _, end = _DECODER.raw_decode(text, index)
        yield index, end
        index = _skip(text, end)
        if text[index] == ",":
            index = _skip(text, index + 1)


def _skip(text: str, index: int) -> int:
    while text[index] in " \t\r\n":
        index += 1
    return index
