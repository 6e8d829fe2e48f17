"""The exact bytes of a revision."""

from __future__ import annotations

from checkpoints.models import CheckpointBody, Handoff


def current_body(*, handoff: Handoff) -> bytes:
    """The bytes of the handoff's current revision."""
    return body_of(handoff=handoff, revision=handoff.revision)


def body_of(*, handoff: Handoff, revision: int) -> bytes:
    """The bytes of one revision. Raises CheckpointBody.DoesNotExist where retention deleted them."""
    content = CheckpointBody.objects.values_list("content", flat=True).get(
        checkpoint__handoff=handoff, checkpoint__revision=revision
    )
    return bytes(content)
