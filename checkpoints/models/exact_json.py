"""JSON columns that come back as the documents they were, not as PostgreSQL's numbers."""

from __future__ import annotations

import json
from typing import Any

from django.db import models

LARGEST = 2**53 - 1


def _number(text: str) -> int | float:
    """jsonb writes 1e20 as 100000000000000000000: beyond ±(2^53−1) no document of ours has an integer."""
    value = int(text)
    return value if -LARGEST <= value <= LARGEST else float(text)


class ExactDecoder(json.JSONDecoder):
    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "parse_int": _number})


class ExactJSONField(models.JSONField):
    """A JSONField for values that came from documents. To the database and to migrations it is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "decoder": ExactDecoder})

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        kwargs.pop("decoder", None)
        return name, "django.db.models.JSONField", args, kwargs
