"""Drafts of edits: kept while somebody types, taken away when the edit is saved, discarded or long forgotten."""

from __future__ import annotations

from datetime import timedelta

from django.db.models import QuerySet
from django.db.models.functions import Now

from checkpoints.errors import InvalidInput
from checkpoints.models import AWAITING_PERSON, Handoff
from checkpoints.services import clock
from reviewqueue.models import EditDraft, User
from reviewqueue.services.access import Act, require
from reviewqueue.services.claiming import touch

KEPT_DAYS = 30
EDITING_SECONDS = 300  # somebody whose draft changed less long ago is shown as editing
LONGEST = 2_000_000  # characters; a document within the limits is shorter


def keep(*, handoff: Handoff, author: User, text: str, reason: str, content_digest: str) -> EditDraft | None:
    """Keep what was typed, whatever it is worth, and extend the author's claim. None where nothing waits any more.

    `content_digest` is that of the revision on the author's screen.
    """
    require(author, Act.DECIDE)
    if handoff.state not in AWAITING_PERSON:
        return None
    if len(text) > LONGEST or "\0" in text or "\0" in reason:
        raise InvalidInput("The text is too long, or holds U+0000, and was not kept.", slug="invalid-form")
    revision = handoff.checkpoints.filter(content_digest=content_digest).order_by("-revision").first()
    if revision is None:
        raise InvalidInput("The form does not say what was on the screen.", slug="invalid-form")
    draft, _ = EditDraft.objects.update_or_create(
        handoff=handoff,
        author=author,
        defaults={
            "revision": revision.revision,
            "content_digest": content_digest,
            "text": text,
            "reason": reason,
            "changed_at": clock.now(),
        },
    )
    touch(handoff_id=handoff.pk, reviewer=author)
    return draft


def own(*, handoff: Handoff, author: User) -> EditDraft | None:
    return EditDraft.objects.filter(handoff=handoff, author=author).first()


def discard(*, handoff: Handoff, author: User) -> None:
    EditDraft.objects.filter(handoff=handoff, author=author).delete()


def others_editing(*, handoff: Handoff, user: User) -> QuerySet[EditDraft]:
    """Drafts of others that changed within the last minutes, newest first."""
    since = Now() - timedelta(seconds=EDITING_SECONDS)
    rows = (
        EditDraft.objects.select_related("author").defer("text").filter(handoff=handoff, changed_at__gt=since)
    )
    return rows.exclude(author=user).order_by("-changed_at")


def forget_old_drafts() -> int:
    """Delete drafts that nobody touched for a month. Returns how many."""
    removed, _ = EditDraft.objects.filter(changed_at__lt=Now() - timedelta(days=KEPT_DAYS)).delete()
    return removed
