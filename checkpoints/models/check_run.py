"""One execution of the catalogue on one revision, or what the sweep added to the last one (HC-79)."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from checkpoints.identifiers import uuid7
from checkpoints.models.append_only import AppendOnly
from checkpoints.models.exact_json import ExactJSONField
from checkpoints.models.handoff import Handoff


class CheckRun(AppendOnly):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    handoff = models.ForeignKey(Handoff, on_delete=models.PROTECT, related_name="check_runs")
    revision = models.PositiveIntegerField()
    attempt = models.PositiveSmallIntegerField()
    policy_version = models.IntegerField()
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField()
    outcome = models.CharField(max_length=10)
    reasons = ArrayField(models.CharField(max_length=20))
    complete = models.BooleanField()
    families = ArrayField(models.CharField(max_length=40))
    not_judged = ArrayField(models.CharField(max_length=10))
    findings = ExactJSONField()  # as the API shows them, all but `ignore`
    risk = models.CharField(max_length=10)
    approvals_required = models.PositiveSmallIntegerField()
    document_tokens = models.PositiveIntegerField()
    context_tokens = models.PositiveIntegerField()

    class Meta:
        db_table = "check_run"
        indexes = [models.Index(fields=["handoff", "-revision", "-finished_at"], name="check_run_newest")]
