"""The sender's timestamp against the time of receipt. It makes findings only; order is the sequence's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from checkpoints.checks.shape import view
from checkpoints.types import CheckContext, Hit, Submission

FORMATS = ("handoff/1",)


def timestamp_against_receipt(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-42 and HC-43."""
    found, produced = view(submission).given("produced_at"), submission.facts.produced_at
    if found is None or produced is None:
        return
    ahead = (produced - context.received_at).total_seconds()
    skew, timeout = context.policy.clock_skew_seconds, context.policy.handoff_timeout_seconds
    if ahead > skew:
        yield Hit(
            "HC-42",
            found.pointer,
            f"{found.name} {found.value} is {_span(ahead)} ahead of our clock; {skew} s are allowed. Check "
            "the sender's clock.",
            f"at most {(context.received_at + timedelta(seconds=skew)).isoformat()}",
            found.value,
        )
    elif -ahead > timeout:
        yield Hit(
            "HC-43",
            found.pointer,
            f"{found.name} {found.value} was {_span(-ahead)} old on receipt, over the handoff timeout of "
            f"{timeout} s. The handoff may have been tried again since.",
            f"at most {timeout} s old",
            found.value,
        )


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 172_800 else f"{seconds / 86_400:.0f} days"


CHECKS = (timestamp_against_receipt,)
