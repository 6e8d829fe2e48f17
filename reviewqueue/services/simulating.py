"""Simulations in the background: a draft's run cut into parts, each judged whole by one process.

A part is claimed by a lease, judged outside any transaction, and written once; the rows say what is left, so that
neither a lost message nor a dead worker loses anything. Nothing but these rows is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from checkpoints.errors import InvalidInput, NotFound, ProblemError
from checkpoints.policies import compile_policy
from checkpoints.services.clock import now
from checkpoints.services.simulation import LONGEST_DAYS, Found, Part, judge_part, parts, window
from checkpoints.services.tally import Tally
from reviewqueue.models import PolicyDraft, PolicySimulation, SimulatedDifference, SimulationPart, User
from reviewqueue.services.access import Act, require

log = structlog.get_logger("reviewqueue.simulating")

LEASE_SECONDS = 60
TRIES = 3

CLAIM = """
    UPDATE policy_simulation_part SET tries = tries + 1,
        lease_until = clock_timestamp() + make_interval(secs => %(lease)s)
    WHERE id = (
        SELECT p.id FROM policy_simulation_part p JOIN policy_simulation s ON s.id = p.simulation_id
        WHERE s.finished_at IS NULL AND p.tally IS NULL AND p.tries < %(tries)s
            AND (p.lease_until IS NULL OR p.lease_until < clock_timestamp())
            AND (SELECT count(*) FROM policy_simulation_part busy
                WHERE busy.tally IS NULL AND busy.lease_until > clock_timestamp()) < %(at_once)s
        ORDER BY s.started_at, p.id LIMIT 1 FOR UPDATE OF p SKIP LOCKED
    )
    RETURNING id, tries
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a simulation is, in parts."""

    done: int
    parts: int

    @property
    def share(self) -> float:
        return self.done / self.parts if self.parts else 1.0


def start(*, draft_id: UUID, person: User, days: int) -> PolicySimulation:
    """Begin to judge the last `days` with the draft as it is. It replaces the draft's earlier simulation."""
    require(person, Act.POLICY_READ)
    if not 1 <= days <= LONGEST_DAYS:
        text = f"Choose 1 to {LONGEST_DAYS} days."
        raise InvalidInput(text, errors=[ProblemError("days", "invalid", text)])
    with transaction.atomic(durable=True):
        draft = PolicyDraft.objects.select_for_update().filter(pk=draft_id, closed_at__isnull=True).first()
        if draft is None:
            raise NotFound("There is no such open draft of the policy.")
        draft.simulations.all().delete()
        found = window(days=days)
        cut = parts(window=found)
        at = now()
        simulation = PolicySimulation.objects.create(
            draft=draft,
            draft_version=draft.version,
            document=draft.document,
            days=days,
            since=found.since,
            until=found.until,
            total=found.total,
            started_by=person,
            started_at=at,
            finished_at=None if cut else at,
            tally=None if cut else Tally().as_json(),
        )
        SimulationPart.objects.bulk_create(_row(simulation, part) for part in cut)
    return simulation


def work() -> bool:
    """Judge one part of the oldest simulation. False where there is none, or enough processes are at it."""
    claimed = _claim()
    if claimed is None:
        return False
    part_id, tries = claimed
    part = SimulationPart.objects.select_related("simulation").get(pk=part_id)
    policy = compile_policy(part.simulation.document, version=0)
    _write(part, tries, judge_part(policy=policy, part=_part(part)))
    return True


def give_up() -> int:
    """Close the simulations of which a part failed three times. Returns how many."""
    stuck = SimulationPart.objects.filter(
        Q(lease_until=None) | Q(lease_until__lt=now()),
        simulation__finished_at__isnull=True,
        tally__isnull=True,
        tries__gte=TRIES,
    )
    return PolicySimulation.objects.filter(
        pk__in=list(stuck.values_list("simulation_id", flat=True)), finished_at__isnull=True
    ).update(
        finished_at=now(), failure="A part of the handoffs could not be judged. The worker’s log says why."
    )


def progress(*, simulation: PolicySimulation) -> Progress:
    rows = SimulationPart.objects.filter(simulation=simulation)
    return Progress(rows.filter(tally__isnull=False).count(), rows.count())


def _claim() -> tuple[int, int] | None:
    # One process of the worker stays free for checkpoints that come in.
    at_once = max(1, settings.WORKER_PROCESSES - 1)
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('simulation', 0))")
        cursor.execute(CLAIM, {"lease": LEASE_SECONDS, "tries": TRIES, "at_once": at_once})
        row: tuple[int, int] | None = cursor.fetchone()
    return row


def _write(part: SimulationPart, tries: int, found: Found) -> None:
    """The part's result in one commit, unless its lease went to another or the simulation is gone."""
    with transaction.atomic(durable=True):
        simulation = PolicySimulation.objects.select_for_update().filter(pk=part.simulation_id).first()
        written = SimulationPart.objects.filter(pk=part.pk, tries=tries, tally__isnull=True).update(
            tally=found.tally.as_json(), lease_until=None
        )
        if simulation is None or not written:
            log.warning("simulation.discarded", part=part.pk)
            return
        SimulatedDifference.objects.bulk_create(
            SimulatedDifference(
                simulation=simulation,
                handoff_id=item.handoff_id,
                received_at=item.received_at,
                outcome_before=item.before.outcome.value,
                outcome_after=item.after.outcome.value,
                reasons_before=list(item.before.reasons),
                reasons_after=list(item.after.reasons),
                codes_before=list(item.before.codes),
                codes_after=list(item.after.codes),
            )
            for item in found.differences
        )
        if not simulation.parts.filter(tally__isnull=True).exists():
            whole = Tally()
            for tally in simulation.parts.values_list("tally", flat=True):
                whole.add(Tally.of_json(tally or {}))
            simulation.tally, simulation.finished_at = whole.as_json(), now()
            simulation.save(update_fields=["tally", "finished_at"])


def _row(simulation: PolicySimulation, part: Part) -> SimulationPart:
    after_at, after_id = part.after or (None, None)
    last_at, last_id = part.last
    return SimulationPart(
        simulation=simulation, after_at=after_at, after_id=after_id, last_at=last_at, last_id=last_id
    )


def _part(row: SimulationPart) -> Part:
    after = (row.after_at, row.after_id) if row.after_at and row.after_id else None
    return Part(after, (row.last_at, row.last_id))
