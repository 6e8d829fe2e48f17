"""Tool arguments, which travel as an object or as a text that holds JSON: two spellings, one meaning."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from checkpoints.canonical.equality import same_value
from checkpoints.types import JSONValue


def same_arguments(one: JSONValue, other: JSONValue) -> bool:
    """Whether a tool would be called with the same values."""
    if type(one) is type(other) and one == other and not isinstance(one, (dict, list)):
        return True
    return same_value(_parsed(one), _parsed(other))


def _parsed(arguments: JSONValue) -> Any:
    """The value of the arguments; absent, null, an empty text and {} all call the tool without arguments."""
    value: Any = arguments
    if isinstance(arguments, str):
        if not arguments.strip():
            return {}
        try:
            # Decimal: 1.10 and 1.1 are one amount, and no digit of a long one is lost.
            value = json.loads(arguments, parse_float=Decimal)
        except (ValueError, ArithmeticError, RecursionError):
            return arguments
    return {} if value is None else value
