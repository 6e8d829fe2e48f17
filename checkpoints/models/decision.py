"""What people decided. Written by the human half, answered by the API of this one."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from checkpoints.identifiers import uuid7
from checkpoints.models.append_only import AppendOnly
from checkpoints.models.exact_json import ExactJSONField
from checkpoints.models.handoff import Handoff


class Action(models.TextChoices):
    APPROVE = "approve"
    EDIT = "edit"
    ABORT = "abort"
    SEND_BACK = "send_back"
    ESCALATE = "escalate"
    REOPEN = "reopen"


class Decision(AppendOnly):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    handoff = models.ForeignKey(Handoff, on_delete=models.PROTECT, related_name="decisions")
    round = models.PositiveIntegerField()
    revision = models.PositiveIntegerField()
    content_digest = models.CharField(max_length=71)
    action = models.CharField(max_length=10, choices=Action.choices)
    actor_kind = models.CharField(max_length=10, default="person")  # person | system (expiry)
    actor_id = models.CharField(max_length=40)
    actor_label = models.CharField(max_length=200)
    role = models.CharField(max_length=20)
    reason = models.TextField(blank=True)
    at = models.DateTimeField()
    answers = ExactJSONField(default=list)  # [{decision_id, answer}]
    reconciliations = ExactJSONField(default=list)  # [{request_id, outcome}]
    advice = models.CharField(max_length=10, default="none")
    question = models.TextField(null=True)
    external_ticket = models.CharField(max_length=200, null=True)
    target = models.CharField(max_length=10, default="same")
    policy_version = models.IntegerField(null=True)

    class Meta:
        db_table = "decision"
        constraints = [
            models.UniqueConstraint(
                fields=["handoff", "round", "actor_id"],
                condition=Q(action="approve"),
                name="decision_one_approval_per_person",
            ),
        ]
        indexes = [
            models.Index(fields=["handoff", "at"], name="decision_by_handoff"),
            models.Index(fields=["-at"], name="decision_newest"),
        ]
