"""What people say to each other about a handoff. Nothing is edited afterwards; its author can take it away."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from checkpoints.identifiers import uuid7


class Comment(models.Model):
    """About the whole handoff (`pointer` ""), or about one place of the document (RFC 6901)."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    handoff = models.ForeignKey(
        "checkpoints.Handoff", on_delete=models.PROTECT, db_index=False, related_name="comments"
    )
    revision = models.PositiveIntegerField()  # that was on the screen
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="comments")
    pointer = models.TextField(blank=True)
    text = models.TextField()
    at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "comment"
        indexes = [models.Index(fields=["handoff", "at"], name="comment_of_handoff")]


class Mention(models.Model):
    """Somebody named in a comment with @username. `seen_at` is set when they read the handoff's page."""

    id = models.BigAutoField(primary_key=True)
    comment = models.ForeignKey(Comment, on_delete=models.PROTECT, db_index=False, related_name="mentions")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, db_index=False, related_name="mentions"
    )
    seen_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "mention"
        constraints = [models.UniqueConstraint(fields=["comment", "person"], name="mention_once_per_comment")]
        indexes = [models.Index(fields=["person"], condition=Q(seen_at__isnull=True), name="mention_unseen")]
