"""The calling systems and their tokens."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from checkpoints.identifiers import uuid7


class Scope(models.TextChoices):
    CHECKPOINTS_WRITE = "checkpoints:write"
    HANDOFFS_READ = "handoffs:read"
    HANDOFFS_DISPATCH = "handoffs:dispatch"
    AUDIT_READ = "audit:read"
    POLICY_READ = "policy:read"


class Orchestrator(models.Model):
    """A principal of the API. Objects of one orchestrator are invisible to all others."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=200, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "orchestrator"

    def __str__(self) -> str:
        return self.name


class ApiToken(models.Model):
    """A bearer token, stored as its prefix (to find it) and the SHA-256 of its text (to compare)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    orchestrator = models.ForeignKey(Orchestrator, on_delete=models.PROTECT, related_name="tokens")
    label = models.CharField(max_length=200, blank=True)
    prefix = models.CharField(max_length=8, unique=True)
    digest = models.BinaryField(max_length=32)
    scopes = ArrayField(models.CharField(max_length=40, choices=Scope.choices))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "api_token"

    def __str__(self) -> str:
        return f"rq_{self.prefix}_…"
