"""What the supervisor itself reads from the environment; everything else is left to reviewqueue.settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reviewqueue.up.state import ROOT


class WrongOption(Exception):
    """A variable or argument cannot be used; the text names it."""


@dataclass(frozen=True)
class Options:
    data_dir: Path
    host: str
    port: int
    web_threads: int
    demo_data: bool
    database_url: str
    redis_url: str
    with_parent: bool

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def read_options(arguments: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Raises WrongOption."""
    unknown = [argument for argument in arguments if argument != "--with-parent"]
    if unknown:
        raise WrongOption(
            f"Unknown argument {unknown[0]}: only --with-parent is known. Settings are variables."
        )
    return Options(
        data_dir=(ROOT / environment.get("DATA_DIR", ".data")).resolve(),
        host=environment.get("HOST", "127.0.0.1"),
        port=_whole(environment, "PORT", default=8000, most=65_535),
        web_threads=_whole(environment, "WEB_THREADS", default=232, most=10_000),
        demo_data=environment.get("DEMO_DATA", "true").lower() not in {"0", "false", "no", "off"},
        database_url=environment.get("DATABASE_URL", ""),
        redis_url=environment.get("REDIS_URL", ""),
        with_parent="--with-parent" in arguments,
    )


def _whole(environment: Mapping[str, str], name: str, *, default: int, most: int) -> int:
    text = environment.get(name) or str(default)
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise WrongOption(f"{name} is {text!r}: it must be a whole number from 1 to {most}.")
    return int(text)
