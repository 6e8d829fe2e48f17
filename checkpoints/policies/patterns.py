"""Regular expressions of a policy, on an engine whose time is linear in the text.

The engine is the one inside jsonschema-rs (Rust's `regex`): no back-references, no look-around, so no text can
make a match slow. The dialect is that of JSON Schema: `\\d` is 0-9, and a pattern matches anywhere unless it
is anchored with ^ and $.
"""

from __future__ import annotations

from collections.abc import Callable

import jsonschema_rs

SIZE_LIMIT = 1 << 20  # bytes of the compiled program: (a{1000}){1000} is refused


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    """A function that says whether a text matches. Raises ValueError for a pattern the engine refuses."""
    options = jsonschema_rs.RegexOptions(size_limit=SIZE_LIMIT)
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=options).is_valid


def pattern_error(pattern: str) -> str | None:
    """A sentence about why a pattern cannot be used, or None."""
    try:
        compile_pattern(pattern)
    except ValueError:
        return (
            f"{pattern[:100]!r} cannot be used as a pattern. Check its brackets; look-around, "
            "back-references and very large repetitions are not supported."
        )
    return None
