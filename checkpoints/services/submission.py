"""From bytes to a stored checkpoint, or to a refusal that is kept."""

from __future__ import annotations

from checkpoints.errors import Conflict, Refused
from checkpoints.formats import admit as read
from checkpoints.models import Orchestrator
from checkpoints.services import admission, quarantine
from checkpoints.services.admission import Admitted
from checkpoints.types import Actor, Limits


def submit(*, orchestrator: Orchestrator, body: bytes, limits: Limits, actor: Actor) -> Admitted:
    """Store one checkpoint durably. Raises Refused or Conflict, after the bytes went to quarantine."""
    try:
        submission = read(body, limits)
    except Refused as error:
        keep_refused(orchestrator=orchestrator, body=body, error=error, actor=actor)
        raise
    try:
        return admission.admit(orchestrator=orchestrator, body=body, submission=submission, actor=actor)
    except Conflict as error:
        quarantine.keep(
            orchestrator=orchestrator,
            body=body,
            error=error,
            session_id=submission.session_id,
            checkpoint_id=submission.checkpoint_id,
            actor=actor,
        )
        raise


def keep_refused(*, orchestrator: Orchestrator, body: bytes, error: Refused, actor: Actor) -> None:
    """Quarantine the bytes of a refusal that says so."""
    if error.keep:
        quarantine.keep(
            orchestrator=orchestrator,
            body=body,
            error=error,
            session_id=error.session_id,
            checkpoint_id=error.checkpoint_id,
            actor=actor,
        )
