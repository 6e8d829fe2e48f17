"""Proof of life: when a part of the product last did its work."""

from __future__ import annotations

from django.db import models


class WorkerHeartbeat(models.Model):
    name = models.CharField(primary_key=True, max_length=40)
    at = models.DateTimeField()

    class Meta:
        db_table = "worker_heartbeat"
