"""What somebody has looked at before deciding. It counts for people only: no check and no machine reads it."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import MD5


class Viewing(models.Model):
    """One person's time with one revision. `seconds` is time with the page in front, never more than passed."""

    id = models.BigAutoField(primary_key=True)
    handoff = models.ForeignKey(
        "checkpoints.Handoff", on_delete=models.PROTECT, db_index=False, related_name="viewings"
    )
    revision = models.PositiveIntegerField()
    viewer = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="viewings")
    first_at = models.DateTimeField()
    seconds = models.PositiveIntegerField(default=0)
    diff_opened_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "viewing"
        constraints = [
            models.UniqueConstraint(fields=["handoff", "revision", "viewer"], name="viewing_one_per_person")
        ]


class OpenedFinding(models.Model):
    """A finding that this person opened: went to its place or unfolded it. Named as a run names it."""

    id = models.BigAutoField(primary_key=True)
    viewing = models.ForeignKey(Viewing, on_delete=models.CASCADE, db_index=False, related_name="opened")
    code = models.CharField(max_length=10)
    pointer = models.TextField()
    at = models.DateTimeField()

    class Meta:
        db_table = "opened_finding"
        constraints = [
            # A pointer can be longer than an index entry may be: its digest stands for it.
            models.UniqueConstraint("viewing", "code", MD5("pointer"), name="opened_finding_once")
        ]
