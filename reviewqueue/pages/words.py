"""Times, people and positions in plain words. English is written here and in the templates, nowhere else."""

from __future__ import annotations

from datetime import datetime

from checkpoints.types import Reason, State

SEVERITIES = {3: "high", 2: "medium", 1: "low", 0: "none"}
RANKS = {"high": 3, "medium": 2, "low": 1, "none": 0}

# The reason on a row of the queue when no finding speaks.
REASONS = {
    Reason.FINDINGS: "A check found something that needs a person",
    Reason.RISK: "High-risk handoff",
    Reason.SENDER: "The sender asked for a person",
    Reason.AWAITING_APPROVAL: "The task waits for an approval",
    Reason.BLOCKING_DECISION: "A blocking question is open",
    Reason.RECONCILIATION: "It is unknown whether an effect happened",
    Reason.INTERRUPT: "The agent's run is paused for a person",
    Reason.REPORTED: "The sender reported a serious issue itself",
    Reason.CHECK_FAILURE: "The checks could not finish",
}

STATES = {
    State.RECEIVED: "Being checked",
    State.REJECTED: "Rejected",
    State.FLAGGED: "Waiting for a person",
    State.CLEARED: "Cleared",
    State.APPROVED: "Approved",
    State.DISPATCHED: "Sent, not yet acknowledged",
    State.RECOVERABLE: "To be sent again",
    State.ESCALATED: "Escalated",
    State.ACKNOWLEDGED: "Acknowledged",
    State.ABORTED: "Aborted",
    State.CANCELLED: "Cancelled",
}


def span(seconds: float) -> str:
    """A length of time in its largest useful unit: "42 s", "12 min", "3 h", "2 d"."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86_400:
        hours, minutes = divmod(whole // 60, 60)
        return f"{hours} h {minutes} min" if hours < 3 and minutes else f"{hours} h"
    return f"{whole // 86_400} d"


def deadline_words(deadline: datetime, now: datetime) -> str:
    left = (deadline - now).total_seconds()
    return f"{span(left)} left" if left > 0 else f"overdue {span(-left)}"


def deadline_tone(used: float) -> str:
    """ "" while there is time, "soon" from 80 % on, "over" after the end."""
    if used >= 1:
        return "over"
    return "soon" if used >= 0.8 else ""


def used_share(start: datetime | None, deadline: datetime, now: datetime) -> float:
    """How much of the time until the deadline has gone, from 0 to 1."""
    whole = (deadline - start).total_seconds() if start else 0
    if whole <= 0:
        return 1.0 if now >= deadline else 0.0
    return min(1.0, max(0.0, 1 - (deadline - now).total_seconds() / whole))


def cut(text: str, length: int) -> str:
    """At most `length` characters, with an ellipsis where something was left out."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def plural(number: int, one: str, many: str | None = None) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
