"""A list of the queue under a name: what stands in the address after the question mark."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from checkpoints.identifiers import uuid7


class SavedView(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="saved_views")
    name = models.CharField(max_length=60)
    query = models.TextField()  # as `urlencode` writes it, without cursors
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "saved_view"
        constraints = [models.UniqueConstraint(fields=["owner", "name"], name="saved_view_one_per_name")]
        indexes = [models.Index(fields=["name"], condition=Q(shared=True), name="saved_view_shared")]
