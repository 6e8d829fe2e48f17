"""The comments of a handoff as its page shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from checkpoints.models import Handoff
from reviewqueue.models import Comment, User
from reviewqueue.pages.tree import anchor

MOST = 100  # newest comments on the page

_MENTION = re.compile(r"(?<![\w@.])(@[\w.+-]{1,150})")


@dataclass(frozen=True, slots=True)
class ShownComment:
    """`pieces` are (text, whether it names somebody)."""

    comment: Comment
    yours: bool
    anchor: str
    pieces: list[tuple[str, bool]] = field(default_factory=list)


def shown(handoff: Handoff, user: User) -> dict[str, Any]:
    """The newest comments, oldest of them first."""
    rows = list(
        Comment.objects.filter(handoff=handoff).select_related("author").order_by("-at", "-id")[: MOST + 1]
    )
    return {
        "items": [_shown(row, user) for row in reversed(rows[:MOST])],
        "more": len(rows) > MOST,
    }


def _shown(row: Comment, user: User) -> ShownComment:
    pieces = [(text, bool(number % 2)) for number, text in enumerate(_MENTION.split(row.text)) if text]
    return ShownComment(row, row.author_id == user.pk, anchor(row.pointer), [] if row.removed_at else pieces)
