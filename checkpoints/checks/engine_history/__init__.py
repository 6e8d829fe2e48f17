"""Family `engine_history`: an EngineCheckpoint against its run, its predecessor and its journal (EH-01 to EH-14)."""

from checkpoints.checks.engine_history import continuity, evidence, runs

FORMATS = ("prompty.engine/1",)
CHECKS = (*runs.CHECKS, *continuity.CHECKS, *evidence.CHECKS)

__all__ = ["CHECKS", "FORMATS"]
