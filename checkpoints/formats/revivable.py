"""Values that name a class for a framework to revive. Their names are shown; nothing is ever revived."""

from __future__ import annotations

from typing import Final, NamedTuple

from checkpoints.canonical.pointers import Path, pointer
from checkpoints.formats.reading import text
from checkpoints.types import JSONObject, JSONValue

_CLASS_TAGS: Final = ("py/object", "__class__", "@class", "$type")


class Revivable(NamedTuple):
    """Where such a value stands, how it is encoded (`pickle`, `msgpack`, `class`), and the type it names."""

    pointer: str
    encoding: str
    type_name: str


def revivable_values(document: JSONValue) -> tuple[Revivable, ...]:
    """Every pickled, msgpack-coded or class-tagged value of a document, in document order."""
    found: list[Revivable] = []
    stack: list[tuple[JSONValue, Path]] = [(document, None)]
    while stack:
        item, path = stack.pop()
        if isinstance(item, dict):
            tagged = _tag(item)
            if tagged:
                found.append(Revivable(pointer(path), *tagged))
            stack.extend((value, (path, name)) for name, value in reversed(item.items()))
        elif isinstance(item, list):
            stack.extend((item[index], (path, index)) for index in range(len(item) - 1, -1, -1))
    return tuple(found)


def revivable_types(document: JSONValue) -> tuple[str, ...]:
    """The type names of those values, each once, sorted."""
    return tuple(sorted({value.type_name for value in revivable_values(document)}))


def _tag(item: JSONObject) -> tuple[str, str] | None:
    if "__pickled__" in item:
        return "pickle", text(item, "__type__") or "unnamed"
    if isinstance(item.get("base64"), str) and text(item, "serde_type"):
        return str(item["serde_type"]), f"{item['serde_type']} data"
    path = item.get("id")
    if "lc" in item and isinstance(path, list) and path:
        return "class", ".".join(str(part) for part in path)
    for tag in _CLASS_TAGS:
        if name := text(item, tag):
            return "class", name
    return None
