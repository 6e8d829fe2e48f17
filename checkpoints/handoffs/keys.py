"""Keys that make repeats safe."""

from __future__ import annotations


def derived_idempotency_key(session_id: str, sequence: int, task_id: str | None) -> str:
    """The key of a handoff whose document brings none: `session:sequence:task` (contract §4)."""
    return f"{session_id}:{sequence}:{task_id or ''}"
