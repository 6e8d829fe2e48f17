"""RFC 6901 JSON pointers, built from paths only where one is needed."""

from __future__ import annotations

type Path = tuple[Path, str | int] | None
"""A path as a walk carries it: (path of the holder, name or index); None is the top."""


def escape(token: str) -> str:
    """One reference token: `~` and `/` escaped."""
    return token.replace("~", "~0").replace("/", "~1")


def pointer(path: Path) -> str:
    """The pointer of a path, in whole characters: a lone surrogate or U+0000 in a name shows as its escape."""
    tokens: list[str] = []
    while path is not None:
        path, token = path
        tokens.append("/" + escape(str(token)))
    whole = "".join(reversed(tokens)).replace("\x00", "\\u0000")
    return whole.encode("utf-8", "backslashreplace").decode()
