"""From bytes to stored checkpoints, or to refusals that are kept."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import DatabaseError, connection, transaction

from checkpoints.errors import Conflict, Refused
from checkpoints.faults import fault
from checkpoints.formats import admit as read
from checkpoints.models import Orchestrator
from checkpoints.services import admission, quarantine
from checkpoints.services.admission import Admitted
from checkpoints.types import Actor, Limits, Submission

type Result = Admitted | Refused | Conflict


def submit(*, orchestrator: Orchestrator, body: bytes, limits: Limits, actor: Actor) -> Admitted:
    """Store one checkpoint durably. Raises Refused or Conflict, after the bytes went to quarantine."""
    found = _read(body, limits)
    result = _admit(orchestrator, body, found, actor)
    if isinstance(result, Admitted):
        return result
    _keep(orchestrator, body, found, result, actor)
    raise result


def submit_many(
    *, orchestrator: Orchestrator, bodies: Sequence[bytes], limits: Limits, actor: Actor
) -> list[Result]:
    """Store many checkpoints in one commit where possible; each is answered on its own, in order.

    Refused ones go to quarantine and stop no other. Where the common commit fails, each is committed alone.
    """
    found = [_read(body, limits) for body in bodies]
    try:
        results = _store_together(orchestrator, bodies, found, actor)
    except DatabaseError:
        connection.close_if_unusable_or_obsolete()
        results = [_admit(orchestrator, body, item, actor) for body, item in zip(bodies, found, strict=True)]
    for body, item, result in zip(bodies, found, results, strict=True):
        if not isinstance(result, Admitted):
            _keep(orchestrator, body, item, result, actor)
    return results


def keep_refused(*, orchestrator: Orchestrator, body: bytes, error: Refused, actor: Actor) -> None:
    """Quarantine a body that nothing could be read from, where its refusal says so."""
    _keep(orchestrator, body, error, error, actor)


def _read(body: bytes, limits: Limits) -> Submission | Refused:
    try:
        return read(body, limits)
    except Refused as error:
        return error


def _admit(orchestrator: Orchestrator, body: bytes, found: Submission | Refused, actor: Actor) -> Result:
    if isinstance(found, Refused):
        return found
    try:
        return admission.admit(orchestrator=orchestrator, body=body, submission=found, actor=actor)
    except Conflict as error:
        return error


def _store_together(
    orchestrator: Orchestrator, bodies: Sequence[bytes], found: Sequence[Submission | Refused], actor: Actor
) -> list[Result]:
    """One transaction. A conflict writes nothing, so it needs no savepoint of its own."""
    results: list[Result] = []
    with transaction.atomic(durable=True):
        # Sorted: two batches that share sessions cannot wait for each other in a circle.
        sessions = sorted({item.session_id for item in found if isinstance(item, Submission)})
        admission.lock_sessions(orchestrator=orchestrator, session_ids=sessions)
        for body, item in zip(bodies, found, strict=True):
            if isinstance(item, Refused):
                results.append(item)
                continue
            try:
                results.append(
                    admission.store(orchestrator=orchestrator, body=body, submission=item, actor=actor)
                )
            except Conflict as error:
                results.append(error)
        fault("batch.before_commit")
    fault("batch.after_commit")
    return results


def _keep(
    orchestrator: Orchestrator,
    body: bytes,
    found: Submission | Refused,
    error: Refused | Conflict,
    actor: Actor,
) -> None:
    if isinstance(error, Refused) and not error.keep:
        return
    quarantine.keep(
        orchestrator=orchestrator,
        body=body,
        error=error,
        session_id=found.session_id,
        checkpoint_id=found.checkpoint_id,
        actor=actor,
    )
