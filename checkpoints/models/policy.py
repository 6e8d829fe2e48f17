"""The versions of the policy document."""

from __future__ import annotations

from django.db import models

from checkpoints.models.append_only import AppendOnly
from checkpoints.models.exact_json import ExactJSONField


class PolicyVersion(AppendOnly):
    version = models.IntegerField(primary_key=True)
    document = ExactJSONField()
    published_at = models.DateTimeField()
    published_by = models.CharField(max_length=200)  # u_… or system:cli
    authored_by = models.CharField(max_length=200)
    note = models.TextField(blank=True)

    class Meta:
        db_table = "policy_version"
