"""Signatures: small integers that are equal exactly where two JSON values are equal."""

from __future__ import annotations

from typing import Any

from checkpoints.types import JSONValue


class Signatures:
    """Numbers every distinct value once. Equal text of a value means an equal number, so `1` is not `1.0`.

    A container's number is kept by its identity: the documents must outlive this object and stay as they are.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._containers: dict[int, int] = {}

    def of(self, value: JSONValue) -> int:
        if isinstance(value, str):  # equal to nothing else: needs no type beside it
            return self._numbers.setdefault(value, len(self._numbers))
        if not isinstance(value, dict | list):
            return self._numbers.setdefault((type(value), value), len(self._numbers))
        known = self._containers.get(id(value))
        if known is not None:
            return known
        key: Any
        if isinstance(value, dict):
            key = (dict, frozenset(zip(value, map(self.of, value.values()), strict=True)))
        else:
            key = (list, tuple(map(self.of, value)))
        number = self._containers[id(value)] = self._numbers.setdefault(key, len(self._numbers))
        return number
