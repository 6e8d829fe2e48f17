"""All formats. A new one is a module with a `FORMAT` and one line here."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from checkpoints.formats import engine, handoff, opaque, prompty_session

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checkpoints.formats.form import Format
    from checkpoints.types import JSONObject

FORMATS: Final[Mapping[str, Format]] = MappingProxyType(
    {
        found.name: found
        for found in (
            handoff.FORMAT,
            engine.FORMAT,
            prompty_session.FORMAT,
            opaque.FORMAT,
        )
    }
)


@cache
def _schema_text(name: str) -> str:
    folder = resources.files("checkpoints.formats") / "schemas"
    return (folder / f"{name.replace('/', '-')}.json").read_text(encoding="utf-8")


def schema(name: str) -> JSONObject:
    """The JSON Schema (2020-12) of a format, a fresh copy. Raises KeyError for an unknown format."""
    if name not in FORMATS:
        raise KeyError(name)
    found: JSONObject = json.loads(_schema_text(name))
    return found
