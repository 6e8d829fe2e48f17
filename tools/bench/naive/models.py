"""One table for documents, one for tokens."""

from __future__ import annotations

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models


class Token(models.Model):
    """A bearer token, stored as the SHA-256 of its text."""

    digest = models.BinaryField(max_length=32, unique=True)
    owner = models.CharField(max_length=200)
    expires_at = models.DateTimeField()

    class Meta:
        app_label = "naive"

    def __str__(self) -> str:
        return self.owner


class Checkpoint(models.Model):
    checkpoint_id = models.CharField(max_length=200, unique=True)
    session_id = models.CharField(max_length=200, db_index=True)
    handoff_sequence = models.BigIntegerField()
    agent_id = models.CharField(max_length=200)
    agent_role = models.CharField(max_length=200)
    timestamp = models.DateTimeField()
    task_id = models.CharField(max_length=200)
    task_status = models.CharField(max_length=40)
    completed_steps = models.JSONField(encoder=DjangoJSONEncoder)
    in_progress_step = models.JSONField(encoder=DjangoJSONEncoder, null=True)
    pending_decisions = models.JSONField(encoder=DjangoJSONEncoder)
    active_constraints = models.JSONField(encoder=DjangoJSONEncoder)
    tool_outputs = models.JSONField(encoder=DjangoJSONEncoder)
    context_snapshot = models.JSONField(encoder=DjangoJSONEncoder)
    context_fingerprint = models.CharField(max_length=71)
    consistency_hash = models.CharField(max_length=71)
    handoff_target = models.JSONField(encoder=DjangoJSONEncoder)
    recovery_instructions = models.JSONField(encoder=DjangoJSONEncoder)
    human_approval_required = models.BooleanField(default=False)
    owner = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "naive"

    def __str__(self) -> str:
        return self.checkpoint_id
