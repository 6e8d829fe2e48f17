"""Paging by the last row seen: signed cursors, stable while rows come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db.models import F, Model, Q, QuerySet
from django.http import HttpRequest

from checkpoints.api.parameters import Parameters, invalid
from checkpoints.types import JSONValue

PAGE_SIZE: Final = 50
LARGEST_PAGE: Final = 200
PARAMETERS: Final = ("cursor", "page_size")


@dataclass(frozen=True, slots=True)
class Order:
    """One column and the primary key behind it. Rows without a value of `column` stand last."""

    column: str
    descending: bool
    nullable: bool = False
    read: Callable[[Any], Any] = datetime.fromisoformat
    key: Callable[[str], Any] = UUID  # reads the primary key

    @property
    def name(self) -> str:
        return f"-{self.column}" if self.descending else self.column


@dataclass(frozen=True, slots=True)
class Page[Row: Model]:
    rows: list[Row]
    next: str | None
    previous: str | None


def page[Row: Model](
    request: HttpRequest,
    parameters: Parameters,
    rows: QuerySet[Row],
    order: Order,
    *,
    size: int = PAGE_SIZE,
) -> Page[Row]:
    """One page of `rows` and the absolute addresses of its neighbours. Raises InvalidInput (400)."""
    size = parameters.integer("page_size", default=size, least=1, most=LARGEST_PAGE)
    cursor = parameters.text("cursor")
    backwards, value, key = False, None, None
    if cursor is not None:
        backwards, value, key = _read(cursor, order)
        rows = rows.filter(_beyond(order, value, key, backwards=backwards))
    found = list(_ordered(rows, order, backwards=backwards)[: size + 1])
    more = len(found) > size
    found = found[:size]
    if backwards:
        found.reverse()
    has_next = more if not backwards else True
    has_previous = more if backwards else cursor is not None
    return Page(
        found,
        _address(request, order, found[-1], backwards=False) if found and has_next else None,
        _address(request, order, found[0], backwards=True) if found and has_previous else None,
    )


def listing(rows: list[JSONValue], found: Page[Any]) -> JSONValue:
    """The body of every list."""
    return {"results": rows, "next": found.next, "previous": found.previous}


def _ordered[Row: Model](rows: QuerySet[Row], order: Order, *, backwards: bool) -> QuerySet[Row]:
    down = order.descending != backwards
    column = F(order.column)
    options: dict[str, bool] = {}
    if order.nullable:
        options = {"nulls_first": True} if backwards else {"nulls_last": True}
    first = column.desc(**options) if down else column.asc(**options)
    return rows.order_by(first, "-pk" if down else "pk")


def _beyond(order: Order, value: Any, key: Any, *, backwards: bool) -> Q:
    """Rows after (or, backwards, before) the row that holds `value` and `key`."""
    down = order.descending != backwards
    key_beyond = Q(**{f"pk__{'lt' if down else 'gt'}": key})
    if value is None:
        without = Q(**{f"{order.column}__isnull": True}) & key_beyond
        return without | Q(**{f"{order.column}__isnull": False}) if backwards else without
    side = "lt" if down else "gt"
    within = Q(**{f"{order.column}__{side}e": value}) & (Q(**{f"{order.column}__{side}": value}) | key_beyond)
    return within | Q(**{f"{order.column}__isnull": True}) if order.nullable and not backwards else within


def _signer() -> Signer:
    return Signer(salt="checkpoints.api.keyset")


def _address(request: HttpRequest, order: Order, row: Model, *, backwards: bool) -> str:
    value = getattr(row, order.column)
    shown = value.isoformat() if isinstance(value, datetime) else value
    cursor = _signer().sign_object([order.name, backwards, shown, str(row.pk)])
    query = [(name, item) for name, values in request.GET.lists() if name != "cursor" for item in values]
    return f"{settings.PUBLIC_URL}{request.path}?{urlencode([*query, ('cursor', cursor)])}"


def _read(cursor: str, order: Order) -> tuple[bool, Any, Any]:
    try:
        name, backwards, shown, key = _signer().unsign_object(cursor)
        if name == order.name:
            return bool(backwards), None if shown is None else order.read(shown), order.key(key)
    except (BadSignature, ValueError, TypeError):
        pass
    raise invalid("cursor", "The cursor is not one of this list and order. Start again without it.")
