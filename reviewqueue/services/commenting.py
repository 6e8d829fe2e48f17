"""What people say to each other about a handoff. Said is said: nobody edits it, its author can take it away."""

from __future__ import annotations

import re
from uuid import UUID

from django.db import transaction

from checkpoints.errors import InvalidInput, NotAllowed, NotFound, ProblemError
from checkpoints.models import Handoff
from checkpoints.services import audit, clock
from checkpoints.services.transition import announce, lock
from checkpoints.types import Actor
from reviewqueue.models import Comment, Mention, User
from reviewqueue.services.access import Act, may, require
from reviewqueue.services.claiming import actor_of

LONGEST = 4000  # characters of a comment
LONGEST_POINTER = 2000
MOST_MENTIONS = 20

_MENTION = re.compile(r"(?<![\w@.])@([\w.+-]{1,150})")


def comment(
    *, handoff_id: UUID, author: User, text: str, pointer: str = "", request: Actor | None = None
) -> Comment:
    """Say something about the handoff, or about one place of its document.

    People named with @username find the handoff marked in their queue. Raises NotAllowed (403), NotFound (404);
    InvalidInput (422) for no text, too much of it, a place that is no JSON Pointer, or a name nobody has.
    """
    require(author, Act.COMMENT)
    said = text.strip()
    _check(said, pointer)
    named = _named(said)
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        row = Comment.objects.create(
            handoff=handoff, revision=handoff.revision, author=author, pointer=pointer, text=said, at=at
        )
        Mention.objects.bulk_create(Mention(comment=row, person=person) for person in named)
        audit.record(
            audit.Entry(
                action="handoff.commented",
                actor=request or actor_of(author),
                subject=("handoff", str(handoff.pk)),
                at=at,
                reason=said,
                after={
                    "comment": str(row.pk),
                    "pointer": pointer,
                    "revision": handoff.revision,
                    "mentions": [person.public_id for person in named],
                },
                policy_version=handoff.policy_version,
            )
        )
        announce(handoff_ids=[handoff.pk])
    return row


def remove(*, handoff_id: UUID, comment_id: UUID, author: User, request: Actor | None = None) -> None:
    """Take one's own comment away: the page says that one was removed. Again changes nothing.

    Raises NotAllowed (403) for another's comment, NotFound (404).
    """
    require(author, Act.COMMENT)
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        row = Comment.objects.filter(pk=comment_id, handoff=handoff).first()
        if row is None:
            raise NotFound("There is no such comment on this handoff.")
        if row.author_id != author.pk:
            raise NotAllowed("Only who wrote a comment can remove it.")
        if row.removed_at is not None:
            return
        row.removed_at = at
        row.save(update_fields=["removed_at"])
        audit.record(
            audit.Entry(
                action="handoff.comment_removed",
                actor=request or actor_of(author),
                subject=("handoff", str(handoff.pk)),
                at=at,
                before={"comment": str(row.pk)},
                policy_version=handoff.policy_version,
            )
        )
        announce(handoff_ids=[handoff.pk])


def mark_mentions_read(*, handoff: Handoff, reader: User) -> None:
    """The reader has the page with the comments in front: its mentions of them are no longer new."""
    Mention.objects.filter(comment__handoff=handoff, person=reader, seen_at=None).update(seen_at=clock.now())


def mentioning(*, person: User, handoff_ids: list[UUID]) -> set[UUID]:
    """Which of these handoffs have a comment that names this person and that they have not read."""
    rows = Mention.objects.filter(
        person=person, seen_at=None, comment__removed_at=None, comment__handoff__in=handoff_ids
    )
    return set(rows.values_list("comment__handoff_id", flat=True))


def _check(text: str, pointer: str) -> None:
    if not text:
        raise _refused("text", "Write something before you send it.")
    if len(text) > LONGEST or "\x00" in text:
        raise _refused("text", f"A comment has at most {LONGEST} characters, none of them U+0000.")
    if pointer and (not pointer.startswith("/") or len(pointer) > LONGEST_POINTER or "\x00" in pointer):
        raise _refused("pointer", "A place is a JSON Pointer such as /completed_steps/0, or empty.")


def _named(text: str) -> list[User]:
    """The people of the mentions, who all have to be able to read them."""
    names = list(dict.fromkeys(name.rstrip(".+-") for name in _MENTION.findall(text)))
    if len(names) > MOST_MENTIONS:
        raise _refused("text", f"Name at most {MOST_MENTIONS} people in one comment.")
    found = {user.username: user for user in User.objects.filter(username__in=names, is_active=True)}
    missing = [name for name in names if name not in found or not may(found[name], Act.COMMENT)]
    if missing:
        listed = ", ".join(f"@{name}" for name in missing)
        raise _refused(
            "text", f"Nobody who works here has the name {listed}. Correct it, or leave out the @."
        )
    return [found[name] for name in names]


def _refused(name: str, text: str) -> InvalidInput:
    return InvalidInput(text, slug="invalid-form", errors=[ProblemError(name, "invalid", text)])
