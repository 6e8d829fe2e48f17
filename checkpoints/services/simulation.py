"""What a draft of the policy would have said to the handoffs of the last days. Nothing stored changes.

Each stored handoff is judged once more as it came in: its first revision, with the history that was known when it
got its verdict. The verdict before is the stored one. Where the draft's outcome differs, the policy that made the
stored verdict judges again too: if it agrees with the draft now, the difference is not the draft's doing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache, partial
from multiprocessing import get_context
from typing import Final
from uuid import UUID

from django.db import connection

from checkpoints.checks import tokens
from checkpoints.formats import reread
from checkpoints.handoffs.likeness import likeness
from checkpoints.models import CheckpointBody, Handoff
from checkpoints.policies import compile_policy, judge
from checkpoints.services.clock import now
from checkpoints.services.history import Case, collect_many
from checkpoints.services.policy import rules_of
from checkpoints.services.tally import Tally, Verdict
from checkpoints.types import CheckContext, CheckPolicy, JSONObject, Judgement, Outcome, rfc3339

PART: Final = 500
LONGEST_DAYS: Final = 3650

# The verdict on what was posted; codes only, because messages are long and not compared.
STORED = """
    SELECT DISTINCT ON (r.handoff_id) r.handoff_id, r.outcome, r.reasons, r.policy_version, r.finished_at,
        ARRAY(SELECT DISTINCT f->>'code' FROM jsonb_array_elements(r.findings) AS f ORDER BY 1)
    FROM check_run r WHERE r.handoff_id = ANY(%s) AND r.revision = 1
    ORDER BY r.handoff_id, r.finished_at DESC
"""
PARTS = """
    SELECT received_at, id FROM (
        SELECT received_at, id, row_number() OVER (ORDER BY received_at, id) AS place, count(*) OVER () AS total
        FROM handoff WHERE received_at >= %(since)s AND received_at < %(until)s AND checked_at IS NOT NULL
    ) numbered
    WHERE place %% %(size)s = 0 OR place = total ORDER BY received_at, id
"""
COLUMNS = (
    "checkpoint_id", "handoff_sequence", "format", "agent_role", "run_id", "revision", "likeness", "received_at",
    "session__session_id",
)  # fmt: skip

type Cursor = tuple[datetime, UUID]  # when a handoff came in, and its key


@dataclass(frozen=True, slots=True)
class Window:
    """The handoffs that came in from `since` to before `until` and have a verdict: `total` of them."""

    since: datetime
    until: datetime
    total: int


@dataclass(frozen=True, slots=True)
class Difference:
    """A handoff that the draft would have sent another way."""

    handoff_id: UUID
    checkpoint_id: str
    session_id: str
    handoff_sequence: int
    agent_role: str | None
    target_role: str | None
    received_at: datetime
    before: Verdict
    after: Verdict

    def as_json(self) -> JSONObject:
        return {
            "checkpoint_id": self.checkpoint_id,
            "session_id": self.session_id,
            "handoff_sequence": self.handoff_sequence,
            "agent_role": self.agent_role,
            "target_role": self.target_role,
            "received_at": rfc3339(self.received_at),
            "before": self.before.as_json(),
            "after": self.after.as_json(),
        }


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a window in order of arrival: after `after` (None: from its start), up to and with `last`."""

    after: Cursor | None
    last: Cursor


@dataclass(frozen=True, slots=True)
class Found:
    """What one part gave."""

    tally: Tally
    differences: list[Difference]


@dataclass(frozen=True, slots=True)
class Report:
    window: Window
    tally: Tally
    differences: list[Difference]

    def as_json(self, days: int) -> JSONObject:
        """The whole report, as `manage.py policy simulate --json` prints it."""
        tally = self.tally
        return {
            "days": days,
            "since": rfc3339(self.window.since),
            "until": rfc3339(self.window.until),
            "judged": tally.judged,
            "without_body": tally.without_body,
            "not_reproduced": tally.not_reproduced,
            "before": {**tally.side("before")},
            "after": {**tally.side("after")},
            "codes": {code: {"before": before, "after": after} for code, before, after in tally.code_rows()},
            "pairs": [
                {
                    "agent_role": source or None,
                    "target_role": target or None,
                    "before": {**before},
                    "after": {**after},
                }
                for source, target, before, after in tally.pair_rows()
            ],
            "differing": len(self.differences),
            "differences": [difference.as_json() for difference in self.differences],
        }


@dataclass(frozen=True, slots=True)
class _Stored:
    verdict: Verdict
    policy_version: int
    finished_at: datetime


def simulate(
    *,
    document: JSONObject,
    days: int,
    progress: Callable[[int, int], None] | None = None,
    processes: int = 1,
) -> Report:
    """Judge everything of the last `days` with `document`. Raises InvalidInput for a draft with mistakes.

    `progress` is told (done, total) after every part. More than one process is worth it from thousands on.
    """
    compile_policy(document, version=0)
    found = window(days=days)
    tally, differences = Tally(), []
    for part in _judged_parts(document, parts(window=found), processes):
        tally.add(part.tally)
        differences.extend(part.differences)
        if progress is not None:
            progress(min(tally.seen, found.total), found.total)
    return Report(found, tally, differences)


def window(*, days: int) -> Window:
    """The last `days`, by the database's clock."""
    until = now()
    since = until - timedelta(days=days)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM handoff WHERE received_at >= %s AND received_at < %s AND checked_at IS NOT NULL",
            [since, until],
        )
        (total,) = cursor.fetchone()
    return Window(since, until, total)


def parts(*, window: Window, size: int = PART) -> list[Part]:
    """The window cut into stretches of `size`. They can be judged in any order, and by several processes."""
    with connection.cursor() as cursor:
        cursor.execute(PARTS, {"since": window.since, "until": window.until, "size": size})
        ends: list[Cursor] = cursor.fetchall()
    return [Part(after, last) for after, last in zip([None, *ends], ends, strict=False)]


def _judged_parts(document: JSONObject, wanted: Sequence[Part], processes: int) -> Iterator[Found]:
    """Each part judged, in order."""
    if processes < 2 or len(wanted) < 2:
        policy = compile_policy(document, version=0)
        yield from (judge_part(policy=policy, part=part) for part in wanted)
        return
    tokens.load()  # once, before the processes part
    connection.close()
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        yield from pool.map(partial(_judge_alone, document), wanted)


def _judge_alone(document: JSONObject, part: Part) -> Found:
    """In a process of the pool, which opens a connection of its own and compiles the policy itself."""
    return judge_part(policy=compile_policy(document, version=0), part=part)


def judge_part(*, policy: CheckPolicy, part: Part) -> Found:
    """Judge one part. Reads only."""
    handoffs = _handoffs(part)
    stored, bodies = _stored(handoffs), _bodies(handoffs)
    tally, differences = Tally(), []
    cases: list[tuple[Case, _Stored]] = []
    for handoff in handoffs:
        before, body = stored.get(handoff.pk), bodies.get(handoff.pk)
        if before is None or body is None:
            tally.without_body += 1
            continue
        submission = _read(body)
        same = handoff.likeness if handoff.revision == 1 else None
        case = Case(handoff, submission, same or likeness(submission), first_judged_at=before.finished_at)
        cases.append((case, before))
    contexts = collect_many(
        cases=[case for case, _ in cases], policy=policy, count_tokens=tokens.load(), read=_read
    )
    # Session by session: what was read of a handoff's predecessor is then still at hand.
    for case, before in sorted(cases, key=lambda pair: pair[0].handoff.session_id):
        after_verdict = _judged(case, before, contexts[case.handoff.pk], tally)
        facts = case.submission.facts
        pair = (facts.agent_role or "", facts.target_role or "")
        tally.count(before.verdict, after_verdict, pair)
        if after_verdict.outcome != before.verdict.outcome:
            differences.append(_difference(case, before.verdict, after_verdict))
    differences.sort(key=lambda difference: (difference.received_at, difference.handoff_id))
    return Found(tally, differences)


def _judged(case: Case, before: _Stored, context: CheckContext, tally: Tally) -> Verdict:
    """The draft's verdict; the stored one where the draft is not why another outcome comes out now."""
    if "SYS-02" in before.verdict.codes:
        return before.verdict  # judging this document is what killed its runs: any policy flags it
    found = _verdict(judge(case.submission, context))
    if found.outcome == before.verdict.outcome:
        return found
    if "SYS-03" not in before.verdict.codes:
        made_by = rules_of(version=before.policy_version)
        again = judge(case.submission, replace(context, policy=made_by))
        if again.outcome == found.outcome:
            tally.not_reproduced += 1
            return before.verdict
    return found


# A handoff is mostly the predecessor of one that follows closely.
_read = lru_cache(maxsize=2 * PART)(reread)


def _verdict(judgement: Judgement) -> Verdict:
    return Verdict(
        judgement.outcome,
        tuple(reason.value for reason in judgement.reasons),
        tuple(sorted({finding.code for finding in judgement.findings})),
    )


def _handoffs(part: Part) -> list[Handoff]:
    at, pk = part.last
    rows = Handoff.objects.filter(received_at__lte=at, checked_at__isnull=False)
    rows = rows.exclude(received_at=at, pk__gt=pk)
    if part.after is not None:
        at, pk = part.after
        # The first condition bounds the walk of the index, the second leaves out what another part has.
        rows = rows.filter(received_at__gte=at).exclude(received_at=at, pk__lte=pk)
    return list(rows.select_related("session").only(*COLUMNS).order_by("received_at", "id"))


def _stored(handoffs: Sequence[Handoff]) -> dict[UUID, _Stored]:
    with connection.cursor() as cursor:
        cursor.execute(STORED, [[handoff.pk for handoff in handoffs]])
        return {
            pk: _Stored(Verdict(Outcome(outcome), tuple(reasons), tuple(codes)), version, finished_at)
            for pk, outcome, reasons, version, finished_at, codes in cursor.fetchall()
        }


def _bodies(handoffs: Sequence[Handoff]) -> Mapping[UUID, bytes]:
    rows = CheckpointBody.objects.filter(checkpoint__handoff__in=handoffs, checkpoint__revision=1)
    return {pk: bytes(content) for pk, content in rows.values_list("checkpoint__handoff_id", "content")}


def _difference(case: Case, before: Verdict, after: Verdict) -> Difference:
    handoff, facts = case.handoff, case.submission.facts
    return Difference(
        handoff_id=handoff.pk,
        checkpoint_id=handoff.checkpoint_id,
        session_id=handoff.session.session_id,
        handoff_sequence=handoff.handoff_sequence,
        agent_role=facts.agent_role,
        target_role=facts.target_role,
        received_at=handoff.received_at,
        before=before,
        after=after,
    )
