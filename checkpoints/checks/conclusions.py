"""Checks that need what the other checks found. The runner calls them last."""

from __future__ import annotations

from collections.abc import Iterator

from checkpoints.types import CheckContext, Hit, Submission


def reported(submission: Submission, context: CheckContext, hits: tuple[Hit, ...]) -> Iterator[Hit]:
    """REP: the sender's own consistency issues, as severe as the sender says."""
    for issue in submission.facts.reported_issues:
        code = f" {issue.code}" if issue.code else ""
        yield Hit(
            "REP",
            issue.pointer,
            f"The sender reported{code}: {issue.message or 'no message given'}",
            severity=issue.severity,
        )


LATE_CHECKS = (reported,)
