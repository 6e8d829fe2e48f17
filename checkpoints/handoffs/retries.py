"""The arithmetic of retries (contract §4)."""

from __future__ import annotations

from collections.abc import Sequence


def retries_left(*, max_retries: int, attempts: int) -> int:
    """What is left after `attempts` of this round, refused ones not counted: the first is no retry."""
    return max(0, max_retries - max(0, attempts - 1))


def backoff_seconds(*, schedule: Sequence[int], attempts: int) -> int:
    """How long to wait after the `attempts`-th attempt of this round failed; the last step repeats."""
    if not schedule:
        return 0
    return schedule[min(max(attempts, 1), len(schedule)) - 1]
