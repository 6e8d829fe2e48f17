"""The verdict in sentences written from data: what happened, why, and what a decision would do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from checkpoints.models import Attempt, Decision, Handoff
from checkpoints.types import CheckPolicy, Facts, Reason, State
from reviewqueue.pages import words
from reviewqueue.pages.findings import ShownFinding


@dataclass(frozen=True, slots=True)
class Point:
    """One sentence of ours; `quoted` is the agent's part of it."""

    text: str
    quoted: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`tone` is bad, care, good or calm; `headline` is ours; `points` say why."""

    tone: str
    headline: str
    points: list[Point] = field(default_factory=list)


def verdict(
    handoff: Handoff,
    facts: Facts | None,
    found: Sequence[ShownFinding],
    decisions: Sequence[Decision],
    attempts: Sequence[Attempt],
    at: datetime,
) -> Verdict:
    """What the box at the top of a handoff says."""
    state = State(handoff.state)
    last = decisions[0] if decisions else None
    if state in (State.FLAGGED, State.ESCALATED):
        return _stopped(handoff, facts, found, attempts, at)
    if state is State.ABORTED:
        return _ended(last)
    if state is State.REJECTED:
        headline = f"Rejected: {_lower(found[0].title)}" if found else "Rejected by the checks"
        return Verdict("bad", headline, [Point("The sender was told and has to send a repaired checkpoint.")])
    return _under_way(handoff, state, found, last, at)


def _under_way(
    handoff: Handoff, state: State, found: Sequence[ShownFinding], last: Decision | None, at: datetime
) -> Verdict:
    """The states in which nobody has to act."""
    target = handoff.target_role or "the next agent"
    if state is State.DISPATCHED:
        left = f"Time: {words.deadline_words(handoff.acknowledge_by, at)}." if handoff.acknowledge_by else ""
        headline = f"Sent to {target}; waiting for its acknowledgement"
        return Verdict("calm", headline, [Point(left)] if left else [])
    if state is State.RECOVERABLE:
        tries = words.plural(handoff.last_attempt, "attempt")
        left = words.plural(handoff.retries_left, "retry", "retries")
        headline = f"{target} did not take it over; the same content can be sent again"
        return Verdict("care", headline, [Point(f"After {tries}, {left} left.")])
    by = f" by {last.actor_label}" if last else ""
    tone, headline = {
        State.RECEIVED: ("calm", "The checks are still running"),
        State.CLEARED: ("good", "Cleared by the checks; nobody had to decide"),
        State.APPROVED: ("good", f"Approved{by}; the orchestrator has not sent it yet"),
        State.ACKNOWLEDGED: ("good", f"{target} has taken over"),
        State.CANCELLED: ("calm", "The orchestrator cancelled this handoff"),
    }[state]
    return Verdict(tone, headline, _warning_points(found) if tone == "good" else [])


def _ended(last: Decision | None) -> Verdict:
    if last is None:
        return Verdict("calm", "Aborted")
    if last.action == "send_back":
        return Verdict(
            "calm", f"{last.actor_label} sent it back with a question", [Point("", last.question or "")]
        )
    advice = {"restart": "The sender was advised to restart from the last good checkpoint.",
              "fallback": "The sender was advised to use the fallback agent."}.get(last.advice)  # fmt: skip
    points = [Point(advice)] if advice else []
    return Verdict("calm", f"{last.actor_label} aborted this handoff", points)


def _stopped(
    handoff: Handoff,
    facts: Facts | None,
    found: Sequence[ShownFinding],
    attempts: Sequence[Attempt],
    at: datetime,
) -> Verdict:
    stopping = [finding for finding in found if finding.stops]
    points = _reason_points(handoff, facts, stopping)
    lost = [attempt for attempt in attempts if attempt.outcome in ("timed_out", "failed")]
    refused = next((attempt for attempt in attempts if attempt.outcome == "refused"), None)
    if handoff.state == State.ESCALATED and lost:
        times = words.plural(len(lost), "attempt")
        headline = f"{handoff.target_role or 'The next agent'} never took over after {times}"
    elif refused and not stopping:
        headline = f"{handoff.target_role or 'The next agent'} refused to take over"
        points.insert(0, Point("It said:", refused.detail))
    elif stopping:
        more = len(stopping) - 1
        and_more = f", and {words.plural(more, 'more finding')}" if more else ""
        headline = f"Stopped: {_lower(stopping[0].title)}{and_more}"
    else:
        headline = points.pop(0).text if points else "Stopped for a person"
        if facts and points == [] and Reason.BLOCKING_DECISION in handoff.reasons:
            points = _asked(facts)
    if handoff.state == State.ESCALATED and handoff.review_deadline and handoff.review_deadline < at:
        points.append(Point("Nobody decided within the deadline, so it was escalated."))
    if handoff.reopened:
        points.append(Point("It was rejected and reopened: only a senior operator may approve it."))
    tone = "bad" if handoff.severity == 3 or handoff.risk == "high" else "care"
    return Verdict(tone, headline, points)


def _reason_points(handoff: Handoff, facts: Facts | None, stopping: Sequence[ShownFinding]) -> list[Point]:
    points: list[Point] = []
    for name in handoff.reasons:
        reason = Reason(name)
        if reason is Reason.FINDINGS and stopping:
            continue
        if reason is Reason.BLOCKING_DECISION and facts and points:
            points += _asked(facts)
        elif reason is Reason.RECONCILIATION and facts and facts.needs_reconciliation:
            number = len(facts.needs_reconciliation)
            points.append(
                Point(
                    f"It is unknown whether {words.plural(number, 'effect')} happened: look before it is repeated"
                )
            )
        else:
            points.append(Point((ALSO if points or stopping else REASONS)[reason]))
    return points


def _asked(facts: Facts) -> list[Point]:
    return [Point("The agent asks:", asked.question) for asked in facts.pending_decisions if asked.blocking]


REASONS = words.REASONS | {
    Reason.RISK: "Stopped because this is a high-risk handoff",
    Reason.SENDER: "Stopped because the sender asked for a person",
    Reason.AWAITING_APPROVAL: "The task itself waits for an approval",
    Reason.BLOCKING_DECISION: "Stopped because a blocking question is open",
    Reason.RECONCILIATION: "Stopped because the outcome of an effect is unknown",
    Reason.INTERRUPT: "Stopped because the agent's run is paused for a person",
    Reason.REPORTED: "Stopped because the sender reported a serious issue itself",
    Reason.CHECK_FAILURE: "Stopped because the checks could not finish, and nothing passes unchecked",
}


# The same as a second thought, after a headline that gave another reason.
ALSO = REASONS | {
    Reason.RISK: "It is a high-risk handoff too",
    Reason.SENDER: "The sender asked for a person as well",
    Reason.BLOCKING_DECISION: "A blocking question is open",
    Reason.RECONCILIATION: "The outcome of an effect is unknown",
    Reason.INTERRUPT: "The agent's run is paused for a person",
    Reason.REPORTED: "The sender reported a serious issue itself",
    Reason.CHECK_FAILURE: "The checks could not finish, and nothing passes unchecked",
}


def _warning_points(found: Sequence[ShownFinding]) -> list[Point]:
    warnings = [finding for finding in found if finding.disposition == "warn"]
    travels = "travels" if len(warnings) == 1 else "travel"
    return [Point(f"{words.plural(len(warnings), 'warning')} {travels} with it.")] if warnings else []


def _lower(text: str) -> str:
    """A title inside a sentence; codes and names keep their capitals."""
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def consequence(handoff: Handoff, found: Sequence[ShownFinding], policy: CheckPolicy) -> dict[str, object]:
    """What approving would do, from data alone."""
    return {
        "target": handoff.target_role or "the next agent",
        "revision": handoff.revision,
        "digest": handoff.content_digest.removeprefix("sha256:")[:12],
        "warnings": sum(1 for finding in found if finding.disposition == "warn"),
        "minutes": max(1, policy.approval_valid_seconds // 60),
        "on_expiry": "aborted" if policy.review_on_expiry == "abort" else "escalated",
    }
