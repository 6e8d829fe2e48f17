"""The named crash points of the product, and the program that reaches each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

WEB: Final = "web"
WORKER: Final = "worker"
SEALER: Final = "sealer"
COMMAND: Final = "command"

# Before the commit: nothing may have happened. After it: everything, although nobody was told.
_COMMITS: Final = {
    WEB: (
        "admission", "batch", "quarantine", "dispatch", "ack", "fail", "refuse", "cancel", "settle", "decision",
        "edit", "undo", "reopen", "claim", "release",
    ),
    WORKER: ("timeout", "expiry", "return"),
    SEALER: ("seal",),
    COMMAND: ("policy",),
}  # fmt: skip
_OTHERS: Final = {
    WEB: ("doorbell.after_flag",),
    WORKER: (
        "drain.before_claim",
        "drain.after_claim",
        "drain.before_write",
        "drain.before_commit",
        "drain.after_commit",
    ),
    SEALER: (),
    COMMAND: (),
}


def points_of(program: str) -> tuple[str, ...]:
    """The points that a program of this kind can be made to die at."""
    commits = [f"{act}.{side}_commit" for act in _COMMITS[program] for side in ("before", "after")]
    return (*commits, *_OTHERS[program])


ALL: Final = frozenset(point for program in (WEB, WORKER, SEALER, COMMAND) for point in points_of(program))


def not_hit(hits: Iterable[str]) -> list[str]:
    """The points that no process died at."""
    return sorted(ALL - set(hits))
