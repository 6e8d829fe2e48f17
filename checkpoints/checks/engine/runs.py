"""Who ran this, and under whom: EC-06, EC-07, EC-08."""

from __future__ import annotations

from collections.abc import Iterable

from checkpoints.checks.engine_reading import (
    counter,
    is_blank,
)
from checkpoints.checks.shape import shown
from checkpoints.types import CheckContext, Hit, Submission


def delegation_names_its_parent(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-06 and EC-07: a parent exactly where the depth is above zero."""
    payload = submission.payload
    depth = counter(payload, "delegationDepth")
    parent = payload.get("parentRunId")
    if depth is None:
        return
    if depth == 0 and isinstance(parent, str) and not is_blank(parent):
        yield Hit(
            "EC-06",
            "/delegationDepth",
            f"parentRunId names {shown(parent)} but delegationDepth is 0: the run would be shown as top level and its "
            "parent never told.",
            "1 or more",
            0,
        )
    elif depth > 0 and is_blank(parent):
        yield Hit(
            "EC-07",
            "/parentRunId",
            f"delegationDepth is {depth} but parentRunId names no run: an orphan cannot be rolled back with it.",
            "the run that delegated to this one",
            None,
        )


def a_run_is_not_its_own_parent(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EC-08."""
    run = submission.payload.get("runId")
    parent = submission.payload.get("parentRunId")
    if isinstance(run, str) and run == parent and not is_blank(run):
        yield Hit(
            "EC-08",
            "/parentRunId",
            f"Run {shown(run)} names itself in parentRunId: a delegated run checkpoints under an id of its own.",
            "another run than runId",
            run,
        )


CHECKS = (delegation_names_its_parent, a_run_is_not_its_own_parent)
