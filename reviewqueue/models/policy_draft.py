"""A policy that is being written, and what it would have done."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from checkpoints.identifiers import uuid7
from checkpoints.models.exact_json import ExactJSONField


class PolicyDraft(models.Model):
    """One author's document. It is open until it is published or discarded; its row stays either way."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="policy_drafts"
    )
    document = ExactJSONField()
    note = models.TextField(blank=True)  # why; it becomes the version's note
    based_on = models.IntegerField()  # the version in force when its author last looked; 0: the defaults
    version = models.BigIntegerField(default=1)  # grows with every save
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    published_version = models.IntegerField(null=True)

    class Meta:
        db_table = "policy_draft"
        indexes = [
            models.Index(
                fields=["-changed_at"], condition=Q(closed_at__isnull=True), name="policy_draft_open"
            )
        ]


class PolicySimulation(models.Model):
    """One run of a document over the handoffs of the last days. Its parts are judged by the worker."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    draft = models.ForeignKey(PolicyDraft, on_delete=models.CASCADE, related_name="simulations")
    draft_version = models.BigIntegerField()
    document = ExactJSONField()
    days = models.PositiveIntegerField()
    since = models.DateTimeField()
    until = models.DateTimeField()
    total = models.PositiveIntegerField()  # handoffs
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    failure = models.TextField(blank=True)  # why it ended without a result
    tally = models.JSONField(null=True)  # services.tally, written when all parts are done

    class Meta:
        db_table = "policy_simulation"
        indexes = [
            models.Index(
                fields=["started_at"], condition=Q(finished_at__isnull=True), name="policy_simulation_running"
            )
        ]


class SimulationPart(models.Model):
    """A stretch of a simulation, judged whole by one process. A lease that ran out frees it."""

    id = models.BigAutoField(primary_key=True)
    simulation = models.ForeignKey(PolicySimulation, on_delete=models.CASCADE, related_name="parts")
    after_at = models.DateTimeField(null=True)
    after_id = models.UUIDField(null=True)
    last_at = models.DateTimeField()
    last_id = models.UUIDField()
    tries = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    tally = models.JSONField(null=True)  # set: done

    class Meta:
        db_table = "policy_simulation_part"


class SimulatedDifference(models.Model):
    """A handoff that the draft would have sent another way, with both verdicts."""

    id = models.BigAutoField(primary_key=True)
    simulation = models.ForeignKey(
        PolicySimulation, on_delete=models.CASCADE, db_index=False, related_name="differences"
    )
    handoff = models.ForeignKey(
        "checkpoints.Handoff", on_delete=models.PROTECT, db_index=False, related_name="+"
    )
    received_at = models.DateTimeField()
    outcome_before = models.CharField(max_length=10)
    outcome_after = models.CharField(max_length=10)
    reasons_before = ArrayField(models.CharField(max_length=20))
    reasons_after = ArrayField(models.CharField(max_length=20))
    codes_before = ArrayField(models.CharField(max_length=10))
    codes_after = ArrayField(models.CharField(max_length=10))

    class Meta:
        db_table = "policy_simulation_difference"
        indexes = [
            models.Index(fields=["simulation", "-received_at", "-id"], name="policy_difference_newest")
        ]
