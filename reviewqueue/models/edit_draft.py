"""What somebody is writing and has not saved: theirs alone, found again after a reload or a lost session."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class EditDraft(models.Model):
    """One person's text for one handoff. `content_digest` is that of the revision it was begun on."""

    id = models.BigAutoField(primary_key=True)
    handoff = models.ForeignKey(
        "checkpoints.Handoff", on_delete=models.CASCADE, db_index=False, related_name="edit_drafts"
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="edit_drafts")
    revision = models.PositiveIntegerField()
    content_digest = models.CharField(max_length=71)
    text = models.TextField()
    reason = models.TextField(blank=True)
    changed_at = models.DateTimeField()

    class Meta:
        db_table = "edit_draft"
        constraints = [
            models.UniqueConstraint(fields=["handoff", "author"], name="edit_draft_one_per_person")
        ]
        indexes = [models.Index(fields=["changed_at"], name="edit_draft_oldest")]
