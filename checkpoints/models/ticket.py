"""Approval tickets: signed, bound to exact content, short-lived, redeemable once."""

from __future__ import annotations

from django.db import models

from checkpoints.identifiers import uuid7
from checkpoints.models.exact_json import ExactJSONField
from checkpoints.models.handoff import Handoff
from checkpoints.models.orchestrator import Orchestrator


class Ticket(models.Model):
    """Created only by the minting service. `token` is the compact JWS last signed for this approval."""

    jti = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    reference = models.CharField(max_length=30, unique=True)
    orchestrator = models.ForeignKey(Orchestrator, on_delete=models.PROTECT)
    handoff = models.ForeignKey(Handoff, on_delete=models.PROTECT, related_name="tickets")
    revision = models.PositiveIntegerField()
    content_digest = models.CharField(max_length=71)
    audience = models.TextField()
    policy_version = models.IntegerField()
    approvers = ExactJSONField()  # [{id, role, at}]
    decided_at = models.DateTimeField()
    issued_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    redeemed_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    attempt = models.PositiveIntegerField(default=1)
    token = models.TextField()

    class Meta:
        db_table = "ticket"
