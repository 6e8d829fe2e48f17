"""Family `engine`: one EngineCheckpoint against itself (EC-01 to EC-55)."""

from checkpoints.checks.engine import (
    batch,
    effects,
    messages,
    progress,
    provider_state,
    reconciliation,
    runs,
    shape,
)

FORMATS = ("prompty.engine/1",)
CHECKS = (
    *shape.CHECKS,
    *runs.CHECKS,
    *messages.CHECKS,
    *provider_state.CHECKS,
    *effects.CHECKS,
    *batch.CHECKS,
    *reconciliation.CHECKS,
    *progress.CHECKS,
)

__all__ = ["CHECKS", "FORMATS"]
