"""The stored documents: one row of facts per revision, and its exact bytes beside it."""

from __future__ import annotations

from django.db import models

from checkpoints.identifiers import uuid7
from checkpoints.models.append_only import AppendOnly
from checkpoints.models.exact_json import ExactJSONField
from checkpoints.models.handoff import Handoff


class Checkpoint(AppendOnly):
    """One revision of a handoff's document. Revision 1 is what the sender posted and never changes."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    handoff = models.ForeignKey(Handoff, on_delete=models.PROTECT, related_name="checkpoints")
    revision = models.PositiveIntegerField()
    revises = models.PositiveIntegerField(null=True)
    content_digest = models.CharField(max_length=71)
    body_digest = models.CharField(max_length=71)
    size = models.PositiveIntegerField(help_text="bytes")
    author_kind = models.CharField(max_length=20)  # orchestrator | person | system
    author_id = models.CharField(max_length=200)
    author_label = models.CharField(max_length=200)
    reason = models.TextField(blank=True)
    patch = ExactJSONField(null=True)  # RFC 6902, from the revised document to this one
    created_at = models.DateTimeField()

    class Meta:
        db_table = "checkpoint"
        constraints = [
            models.UniqueConstraint(fields=["handoff", "revision"], name="checkpoint_one_per_revision"),
        ]


class CheckpointBody(AppendOnly):
    """The bytes. Retention deletes this row; facts and digests stay."""

    checkpoint = models.OneToOneField(
        Checkpoint, on_delete=models.PROTECT, primary_key=True, related_name="body"
    )
    content = models.BinaryField()

    class Meta:
        db_table = "checkpoint_body"


class Refusal(AppendOnly):
    """Quarantine: a complete body that could not be stored as a checkpoint (contract §2.1)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    orchestrator = models.ForeignKey("checkpoints.Orchestrator", on_delete=models.PROTECT)
    at = models.DateTimeField()
    status = models.PositiveSmallIntegerField()
    type = models.CharField(max_length=80)
    errors = ExactJSONField()
    session_id = models.TextField(null=True)
    checkpoint_id = models.TextField(null=True)
    body_digest = models.CharField(max_length=71)
    size = models.PositiveIntegerField(help_text="bytes")
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "refusal"
        indexes = [
            models.Index(fields=["orchestrator", "-at", "-id"], name="refusal_newest_first"),
            models.Index(
                fields=["orchestrator", "session_id", "-at"],
                condition=models.Q(status=409),
                name="refusal_conflicts",
            ),
        ]


class RefusalBody(models.Model):
    """The refused bytes: deleted after 30 days, or earlier when newer ones need the room."""

    refusal = models.OneToOneField(Refusal, on_delete=models.PROTECT, primary_key=True, related_name="body")
    content = models.BinaryField()

    class Meta:
        db_table = "refusal_body"
