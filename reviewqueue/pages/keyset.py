"""Paging by the last row seen: no OFFSET, no page numbers, stable while rows come and go."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Model, Q, QuerySet
from django.db.models.expressions import OrderBy

from checkpoints.errors import InvalidInput
from checkpoints.types import JSONValue

PAGE_SIZE = 30  # three screens; a page of fifty takes twice the time to write


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an order. `read` turns a cursor's JSON back into a value; nulls stand last."""

    name: str
    read: Callable[[Any], Any]
    descending: bool = False
    nullable: bool = False

    def ordering(self, *, backwards: bool) -> OrderBy:
        nulls = {"nulls_first": True} if backwards else {"nulls_last": True}
        options: dict[str, bool] = nulls if self.nullable else {}
        down = self.descending != backwards
        return F(self.name).desc(**options) if down else F(self.name).asc(**options)

    def beyond(self, value: Any, *, backwards: bool) -> Q:
        """Rows that come after (or, backwards, before) `value` in this column alone."""
        if value is None:
            return Q(**{f"{self.name}__isnull": False}) if backwards else Q(pk__in=[])
        down = self.descending != backwards
        further = Q(**{f"{self.name}__{'lt' if down else 'gt'}": value})
        if self.nullable and not backwards:
            further |= Q(**{f"{self.name}__isnull": True})
        return further

    def same(self, value: Any) -> Q:
        return Q(**{f"{self.name}__isnull": True}) if value is None else Q(**{self.name: value})


def read_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def read_integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**62) < value < 2**62:
        raise TypeError
    return value


def read_instant(value: Any) -> datetime | None:
    if value is None:
        return None
    at = datetime.fromisoformat(read_text(value))
    if at.tzinfo is None:
        raise ValueError("naive")
    return at


@dataclass(frozen=True, slots=True)
class Slice[Row: Model]:
    """One page of rows and the cursors around it (None: there is nothing more)."""

    rows: list[Row]
    next: str | None
    previous: str | None


def take[Row: Model](
    rows: QuerySet[Row],
    columns: Sequence[Column],
    *,
    after: str = "",
    before: str = "",
    size: int = PAGE_SIZE,
) -> Slice[Row]:
    """The page after (or before) a cursor. Raises InvalidInput (400) for a cursor that is not ours."""
    if after and before:
        raise InvalidInput("Send “after” or “before”, not both.", status=400)
    backwards = bool(before)
    cursor = before or after
    if cursor:
        rows = rows.filter(_beyond(columns, _decode(cursor, columns), backwards=backwards))
    found = list(rows.order_by(*(column.ordering(backwards=backwards) for column in columns))[: size + 1])
    more = len(found) > size
    found = found[:size]
    if backwards:
        found.reverse()
    return Slice(
        rows=found,
        next=_encode(found[-1], columns) if found and (more or backwards) else None,
        previous=_encode(found[0], columns) if found and (more if backwards else bool(after)) else None,
    )


def cursor(row: Model, columns: Sequence[Column]) -> str:
    """The cursor of a row, for the page after or before it."""
    return _encode(row, columns)


def _beyond(columns: Sequence[Column], values: Sequence[Any], *, backwards: bool) -> Q:
    condition = Q(pk__in=[])
    same = Q()
    for column, value in zip(columns, values, strict=True):
        condition |= same & column.beyond(value, backwards=backwards)
        same &= column.same(value)
    return condition


def _encode(row: Model, columns: Sequence[Column]) -> str:
    values: list[JSONValue] = []
    for column in columns:
        value = getattr(row, column.name)
        values.append(value if value is None or isinstance(value, int | str) else _text(value))
    packed = json.dumps(values, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _decode(cursor: str, columns: Sequence[Column]) -> list[Any]:
    try:
        packed = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        values = json.loads(packed)
        if not isinstance(values, list) or len(values) != len(columns):
            raise TypeError
        return [column.read(value) for column, value in zip(columns, values, strict=True)]
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise InvalidInput("This page address is damaged. Go back to the first page.", status=400) from error
