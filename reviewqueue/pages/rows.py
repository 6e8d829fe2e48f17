"""A handoff as a line of the queue: severity, words, time left, who holds it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from checkpoints.models import Handoff
from checkpoints.types import Reason, State
from reviewqueue.models import Claim, User
from reviewqueue.pages import words

TITLE_LENGTH = 160


@dataclass(frozen=True, slots=True)
class Quorum:
    required: int
    given: int

    @property
    def dots(self) -> list[bool]:
        return [place < self.given for place in range(self.required)]


@dataclass(frozen=True, slots=True)
class QueueRow:
    """One line of the queue, ready to print."""

    handoff: Handoff
    severity: str
    title: str
    why: str
    more: str
    tags: tuple[str, ...]
    since: datetime
    waited: str
    due: str
    tone: str
    used: float
    quorum: Quorum | None
    holder: str
    held_until: datetime | None
    held_by_you: bool


def queue_row(
    handoff: Handoff, user: User, at: datetime, *, mentioned: bool = False, untold: bool = False
) -> QueueRow:
    since = handoff.flagged_at or handoff.received_at
    deadline = handoff.review_deadline
    used = words.used_share(since, deadline, at) if deadline else 0.0
    claim = live_claim(handoff, at)
    return QueueRow(
        handoff=handoff,
        severity=words.SEVERITIES[handoff.urgency],
        title=words.cut(handoff.title, TITLE_LENGTH),
        why=why(handoff),
        more=_more(handoff),
        tags=(
            *(["mentions you"] if mentioned else []),
            *(["nobody told"] if untold else []),
            *_tags(handoff),
        ),
        since=since,
        waited=words.span((at - since).total_seconds()),
        due=words.deadline_words(deadline, at) if deadline else "",
        tone=words.deadline_tone(used),
        used=round(used, 3),
        quorum=_quorum(handoff),
        holder=claim.holder.label if claim else "",
        held_until=claim.expires_at if claim else None,
        held_by_you=claim is not None and claim.holder_id == user.pk,
    )


def live_claim(handoff: Handoff, at: datetime) -> Claim | None:
    """The claim that counts now, from a row read together with its claim."""
    claim: Claim | None = getattr(handoff, "claim", None)
    return claim if claim is not None and claim.expires_at > at else None


def why(handoff: Handoff) -> str:
    """What stopped it in plain words: the first finding where findings did, else the first reason."""
    if handoff.state == State.ESCALATED and handoff.last_attempt:
        return "The receiver never took over"
    if _finding_speaks(handoff):
        return handoff.first_finding
    return words.REASONS[Reason(handoff.reasons[0])] if handoff.reasons else "Nothing was found"


def _finding_speaks(handoff: Handoff) -> bool:
    if handoff.state == State.ESCALATED and handoff.last_attempt:
        return False
    stopped_by = handoff.reasons[0] if handoff.reasons else Reason.FINDINGS
    return bool(handoff.first_finding) and stopped_by in (Reason.FINDINGS, Reason.REPORTED)


def _more(handoff: Handoff) -> str:
    """How many findings the line does not name."""
    if _finding_speaks(handoff):
        return (
            f"and {words.plural(handoff.finding_count - 1, 'more finding')}"
            if handoff.finding_count > 1
            else ""
        )
    return f"and {words.plural(handoff.finding_count, 'finding')}" if handoff.finding_count else ""


def _tags(handoff: Handoff) -> list[str]:
    tags = []
    if handoff.risk == "high" and handoff.reasons[:1] != [Reason.RISK]:
        tags.append("high risk")
    if handoff.state == State.ESCALATED:
        tags.append("escalated")
    if handoff.revision > 1:
        tags.append("edited")
    if handoff.reopened:
        tags.append("reopened")
    if handoff.last_attempt and handoff.state == State.FLAGGED:
        tags.append("returned")
    if handoff.last_attempt:
        tags.append(f"sent {words.plural(handoff.last_attempt, 'time')}")
    return tags


def _quorum(handoff: Handoff) -> Quorum | None:
    if handoff.approvals_required < 2:
        return None
    return Quorum(handoff.approvals_required, handoff.approvals_given)
