"""The audit trail: one append-only entry per act, chained per subject, free text beside it."""

from __future__ import annotations

from django.db import models

from checkpoints.identifiers import uuid7
from checkpoints.models.append_only import AppendOnly
from checkpoints.models.exact_json import ExactJSONField


class AuditEntry(AppendOnly):
    """The part that is never erased. `digest` covers it and the commitment to the text (contract §9)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField()
    action = models.CharField(max_length=60)
    actor_kind = models.CharField(max_length=20)
    actor_id = models.CharField(max_length=200)
    subject_kind = models.CharField(max_length=20)
    subject_id = models.TextField()
    subject_index = models.BigIntegerField()  # position in the subject's chain, from 0; refusals: always 0
    request_id = models.CharField(max_length=64, null=True)
    trace_id = models.CharField(max_length=64, null=True)
    policy_version = models.IntegerField(null=True)
    previous_digest = models.CharField(max_length=71, null=True)
    text_commitment = models.CharField(max_length=71)
    digest = models.CharField(max_length=71)
    xid = models.BigIntegerField()  # forced by a trigger: the writer's transaction, for the sealer's horizon

    class Meta:
        db_table = "audit_entry"
        constraints = [
            models.UniqueConstraint(
                fields=["subject_kind", "subject_id", "subject_index"], name="audit_entry_no_fork"
            ),
        ]
        indexes = [
            models.Index(fields=["-at", "-id"], name="audit_entry_newest"),
            models.Index(fields=["actor_id", "-at"], name="audit_entry_by_actor"),
            models.Index(fields=["action", "-at"], name="audit_entry_by_action"),
            models.Index(fields=["xid", "id"], name="audit_entry_horizon"),
        ]


class AuditText(AppendOnly):
    """What may be erased later: label, reason, before, after and the salt of their commitment."""

    entry = models.OneToOneField(AuditEntry, on_delete=models.PROTECT, primary_key=True, related_name="text")
    salt = models.BinaryField(max_length=32)
    label = models.TextField()
    reason = models.TextField(null=True)
    before = ExactJSONField(null=True)
    after = ExactJSONField(null=True)

    class Meta:
        db_table = "audit_text"
