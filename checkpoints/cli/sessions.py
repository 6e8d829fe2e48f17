"""What checks know of the files judged before: the part of the database's history that files can tell.

Tickets, answers and decisions are not in files: what needs them is not judged here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from checkpoints.formats.engine import FORMAT as ENGINE
from checkpoints.handoffs.calls import call_results
from checkpoints.handoffs.likeness import likeness
from checkpoints.types import CheckContext, CheckPolicy, KnownRun, Outcome, Submission


@dataclass
class Judged:
    """One file that was judged."""

    submission: Submission
    checkpoint_id: str
    sequence: int
    outcome: Outcome
    likeness: str


@dataclass
class Sessions:
    """The files judged so far, of all sessions, in the order of the command line."""

    judged: list[Judged] = field(default_factory=list)
    _by_session: defaultdict[str, list[Judged]] = field(default_factory=lambda: defaultdict(list))
    _keys: dict[str, str] = field(default_factory=dict)
    _calls: dict[str, tuple[str, str]] = field(
        default_factory=dict
    )  # call_id -> session, digest of its result

    def context(
        self,
        submission: Submission,
        *,
        policy: CheckPolicy,
        received_at: datetime,
        name: str,
        count_tokens: Callable[[str], int] | None,
    ) -> CheckContext:
        """What a check may know about this file. `name` stands in for a checkpoint_id that the sender left out."""
        earlier = self._by_session[submission.session_id]
        sequence = submission.handoff_sequence or max((one.sequence for one in earlier), default=0) + 1
        previous = self._previous(submission, sequence)
        known = sorted(one.sequence for one in earlier if one.sequence < sequence)
        facts = submission.facts
        return CheckContext(
            received_at=received_at,
            policy=policy,
            checkpoint_id=submission.checkpoint_id or name,
            handoff_sequence=sequence,
            previous=previous.submission if previous else None,
            previous_sequence=previous.sequence if previous else None,
            highest_judged_sequence=max((one.sequence for one in earlier), default=None),
            missing_sequences=tuple(range(known[-1] + 1, min(sequence, known[-1] + 101))) if known else (),
            idempotency_key_used_by=self._keys.get(facts.idempotency_key or ""),
            equal_posts=self._equal_posts(submission),
            role_alternations=self._alternations(submission),
            foreign_call_ids=self._foreign_call_ids(submission),
            same_source_id_digest=self._same_source_id(submission),
            known_runs=self._known_runs(),
            count_tokens=count_tokens,
        )

    def add(self, submission: Submission, context: CheckContext, outcome: Outcome) -> None:
        """Remembers a judged file for the ones after it."""
        one = Judged(
            submission, context.checkpoint_id, context.handoff_sequence, outcome, likeness(submission)
        )
        self.judged.append(one)
        self._by_session[submission.session_id].append(one)
        if outcome is Outcome.REJECTED:
            return
        if submission.facts.idempotency_key is not None:
            self._keys.setdefault(submission.facts.idempotency_key, context.checkpoint_id)
        for call_id, result in call_results(submission).items():
            self._calls.setdefault(call_id, (submission.session_id, result))

    def _previous(self, submission: Submission, sequence: int) -> Judged | None:
        """Contract §4, History: the last of the same task and role, or of the same run, that was not rejected."""
        return max(
            (
                one
                for one in self._by_session[submission.session_id]
                if one.sequence < sequence
                and one.outcome is not Outcome.REJECTED
                and _thread(one.submission) == _thread(submission)
            ),
            key=lambda one: one.sequence,
            default=None,
        )

    def _same_source_id(self, submission: Submission) -> str | None:
        """Content digest of the last document with the same run and the same id of its own (EH-01)."""
        facts = submission.facts
        for one in reversed(self._by_session[submission.session_id]):
            theirs = one.submission.facts
            if facts.source_id is not None and (theirs.run_id, theirs.source_id) == (
                facts.run_id,
                facts.source_id,
            ):
                return one.submission.content_digest
        return None

    def _equal_posts(self, submission: Submission) -> int:
        same = likeness(submission)
        return sum(
            one.likeness == same and _pair(one.submission) == _pair(submission)
            for one in self._by_session[submission.session_id]
        )

    def _alternations(self, submission: Submission) -> int:
        """How often the direction turned between the two roles of this task, this handoff included."""
        facts, turns = submission.facts, 0
        direction = (facts.agent_role, facts.target_role)
        for one in reversed(self._by_session[submission.session_id]):
            pair = (one.submission.facts.agent_role, one.submission.facts.target_role)
            if one.submission.facts.task_id != facts.task_id or set(pair) != set(direction):
                continue
            if pair == direction:
                break
            turns, direction = turns + 1, pair
        return turns

    def _foreign_call_ids(self, submission: Submission) -> dict[str, str]:
        """Call ids that have another result in another session, with that session."""
        found = {}
        for call_id, result in call_results(submission).items():
            session, other = self._calls.get(call_id, (submission.session_id, result))
            if session != submission.session_id and other != result:
                found[call_id] = session
        return found

    def _known_runs(self) -> dict[str, KnownRun]:
        runs: dict[str, KnownRun] = {}
        for one in self.judged:
            facts = one.submission.facts
            if facts.run_id is not None:
                runs.setdefault(
                    facts.run_id,
                    KnownRun(
                        facts.run_id,
                        one.submission.session_id,
                        facts.turn_id,
                        facts.parent_run_id,
                        facts.delegation_depth,
                    ),
                )
        return runs


def _thread(submission: Submission) -> tuple[str | None, ...]:
    facts = submission.facts
    if submission.format == ENGINE.name:
        return (submission.format, facts.turn_id, facts.run_id)
    return (submission.format, facts.task_id, facts.agent_role)


def _pair(submission: Submission) -> tuple[str | None, ...]:
    facts = submission.facts
    return (facts.task_id, facts.agent_role, facts.target_role)
