"""From bytes to stored checkpoints, or to refusals that are kept."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import DatabaseError, connection

from checkpoints.errors import Conflict, Refused
from checkpoints.formats import admit as read
from checkpoints.models import Orchestrator
from checkpoints.services import admission, quarantine
from checkpoints.services.admission import Admitted
from checkpoints.services.received_rows import Arrival
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
    """One transaction for those that can be stored."""
    arrivals = [
        Arrival(orchestrator, body, item, actor)
        for body, item in zip(bodies, found, strict=True)
        if isinstance(item, Submission)
    ]
    stored = iter(admission.admit_together(arrivals, point="batch") if arrivals else [])
    return [item if isinstance(item, Refused) else next(stored) for item in found]


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
