"""Reading what agents wrote. A manager's reading is an act of its own and stands in the trail (contract §7)."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from checkpoints.errors import NotFound
from checkpoints.models import Handoff
from checkpoints.services import audit, clock
from checkpoints.types import Actor
from reviewqueue.models import Role, User
from reviewqueue.services.access import Act, require


def record_reading(*, handoff_id: UUID, reader: User, request: Actor) -> None:
    """Write `handoff.body_read` where the reader's readings are recorded. Raises NotAllowed, NotFound."""
    require(reader, Act.READ_BODIES)
    if reader.role != Role.MANAGER:
        return
    with transaction.atomic(durable=True):
        # The chain of a handoff is ordered by the lock on its row.
        handoff = Handoff.objects.select_for_update().filter(pk=handoff_id).first()
        if handoff is None:
            raise NotFound("There is no such handoff.")
        audit.record(
            audit.Entry(
                action="handoff.body_read",
                actor=request,
                subject=("handoff", str(handoff.pk)),
                at=clock.now(),
                after={
                    "checkpoint_id": handoff.checkpoint_id,
                    "revision": handoff.revision,
                    "content_digest": handoff.content_digest,
                },
                policy_version=handoff.policy_version,
            )
        )
