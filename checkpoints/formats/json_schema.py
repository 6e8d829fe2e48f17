"""The published JSON Schema of a format: its document, flat or in an envelope.

`schemas/<format>.json` holds the definitions of the document itself and `needs`: for each thing that must be
given somewhere, the places where it may stand. `schemas/envelope.json` holds what all formats share.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Final

from checkpoints.types import JSONObject, JSONValue

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def compose(name: str, title: str) -> JSONObject:
    """A whole 2020-12 schema, a fresh copy each time; all references stay inside it."""
    own = _definitions(name.replace("/", "-"))
    needs = own.pop("needs")
    shared = _definitions("envelope")
    outer: JSONValue = {"$ref": "#/$defs/outer"}
    given: JSONValue = {"properties": {"format": {"enum": [name, None]}}}
    return {
        "$schema": DIALECT,
        "title": title,
        "if": {"type": "object", "properties": {"payload": {"type": "object"}}, "required": ["payload"]},
        "then": {"$ref": "#/$defs/envelope"},
        "else": {"$ref": "#/$defs/flat"},
        "$defs": {
            **shared,
            **own,
            "flat": {"allOf": [outer, given, {"$ref": "#/$defs/document"}, *_all_needs(needs, _stands_flat)]},
            "envelope": {
                "allOf": [
                    outer,
                    given,
                    {"properties": {"payload": {"$ref": "#/$defs/document"}}},
                    *_all_needs(needs, _stands_in_envelope),
                ]
            },
        },
    }


@cache
def _text(name: str) -> str:
    return (resources.files("checkpoints.formats") / "schemas" / f"{name}.json").read_text(encoding="utf-8")


def _definitions(name: str) -> JSONObject:
    found: JSONObject = json.loads(_text(name))
    return found


def _all_needs(needs: JSONValue, stands: Callable[[str], list[JSONValue]]) -> list[JSONValue]:
    """One `anyOf` for each need, over all places where it may stand."""
    if not isinstance(needs, list):
        return []
    return [
        {"anyOf": [schema for place in places if isinstance(place, str) for schema in stands(place)]}
        for places in needs
        if isinstance(places, list)
    ]


def _stands_flat(place: str) -> list[JSONValue]:
    return [_requires(place.split("."))]


def _stands_in_envelope(place: str) -> list[JSONValue]:
    """In the payload; a member of the top level may stand in the envelope instead."""
    inside = _requires(["payload", *place.split(".")])
    return [inside] if "." in place else [_requires([place]), inside]


def _requires(path: list[str]) -> JSONValue:
    name, *rest = path
    if not rest:
        return {"required": [name]}
    return {"required": [name], "properties": {name: _requires(rest)}}
