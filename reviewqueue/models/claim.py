"""Who is looking at an item. A claim is a courtesy with an end, never a lock on the content."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Claim(models.Model):
    handoff = models.OneToOneField(
        "checkpoints.Handoff", on_delete=models.CASCADE, primary_key=True, related_name="claim"
    )
    holder = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="claims")
    claimed_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        db_table = "claim"
