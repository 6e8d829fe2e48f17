"""Writing a policy with two people: one drafts, a manager who is somebody else puts it in force (contract §7, §8).

A live policy is only ever replaced whole, by a draft whose author saw the version that it replaces.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import jsonpatch
from django.db import transaction

from checkpoints.errors import Conflict, InvalidInput, NotAllowed, NotFound, ProblemError
from checkpoints.models import PolicyVersion
from checkpoints.policies import compile_policy
from checkpoints.services import audit, policy
from checkpoints.services.clock import now
from checkpoints.types import Actor, JSONObject, JSONValue
from reviewqueue.models import PolicyDraft, User
from reviewqueue.services.access import Act, may, require
from reviewqueue.services.claiming import actor_of

LONGEST_NOTE = 2000


def begin(
    *, author: User, document: JSONObject | None = None, note: str = "", request: Actor | None = None
) -> PolicyDraft:
    """A new draft: a copy of the policy in force, or `document`. Raises InvalidInput with a pointer per mistake."""
    require(author, Act.POLICY_DRAFT)
    _check_note(note)
    live = policy.active(fresh=True)
    document = live.document if document is None else document
    compile_policy(document, version=0)
    with transaction.atomic(durable=True):
        at = now()
        draft = PolicyDraft.objects.create(
            author=author, document=document, note=note, based_on=live.version, created_at=at, changed_at=at
        )
        _record("policy.drafted", draft, request or actor_of(author), at, after={"document": document})
    return draft


def save(
    *,
    draft_id: UUID,
    author: User,
    document: JSONObject,
    note: str,
    version: int,
    request: Actor | None = None,
) -> PolicyDraft:
    """Replace the draft's document. `version` is the one that was on the screen.

    Raises InvalidInput (422) with a pointer per mistake, Conflict (409) where it was saved meanwhile or is closed,
    NotAllowed (403) for anybody but its author.
    """
    _check_note(note)
    compile_policy(document, version=0)
    with transaction.atomic(durable=True):
        draft, at = _own(draft_id, author, version)
        patch: list[JSONValue] = [*jsonpatch.make_patch(draft.document, document).patch]
        if not patch and note == draft.note:
            return draft
        draft.document, draft.note = document, note
        _write(draft, at)
        _record("policy.edited", draft, request or actor_of(author), at, after={"patch": patch})
    return draft


def catch_up(*, draft_id: UUID, author: User, version: int, request: Actor | None = None) -> PolicyDraft:
    """Base the draft on the version in force now: its author has seen what is different."""
    with transaction.atomic(durable=True):
        draft, at = _own(draft_id, author, version)
        before, draft.based_on = draft.based_on, policy.active(fresh=True).version
        _write(draft, at)
        _record("policy.rebased", draft, request or actor_of(author), at, after={"instead_of": before})
    return draft


def discard(*, draft_id: UUID, person: User, request: Actor | None = None) -> PolicyDraft:
    """Close a draft without effect. Its author may, and a manager. Discarding it again changes nothing."""
    with transaction.atomic(durable=True):
        draft, at = _locked(draft_id)
        if draft.author_id != person.pk and not may(person, Act.POLICY_PUBLISH):
            raise NotAllowed(f"This is {draft.author.label}’s draft. Its author or a manager can discard it.")
        if draft.closed_at and draft.published_version is None:
            return draft
        _refuse_closed(draft)
        draft.closed_at = at
        _write(draft, at)
        _record("policy.discarded", draft, request or actor_of(person), at)
    return draft


def publish(*, draft_id: UUID, publisher: User, version: int, request: Actor | None = None) -> PolicyVersion:
    """Put the draft in force from the next check on. The same person's same act again returns the first version.

    Raises NotAllowed (403) for its author and for anybody but a manager; Conflict (409) where the draft changed
    since it was shown, is closed, or where the policy in force is not the one it is based on.
    """
    require(publisher, Act.POLICY_PUBLISH)
    actor = request or actor_of(publisher)
    with transaction.atomic(durable=True):
        draft, at = _locked(draft_id)
        if draft.author_id == publisher.pk:
            raise NotAllowed(
                "You wrote this draft. Another manager has to publish it.", slug="self-publication"
            )
        if draft.published_version is not None:
            published = PolicyVersion.objects.get(version=draft.published_version)
            if published.published_by == actor.id:
                return published
        _refuse_closed(draft)
        _refuse_stale(draft, version)
        published = policy.put_in_force(
            document=draft.document,
            actor=actor,
            author=draft.author.public_id,
            note=draft.note,
            instead_of=draft.based_on,
        )
        draft.closed_at, draft.published_version = at, published.version
        _write(draft, at)
    return published


def _own(draft_id: UUID, author: User, version: int) -> tuple[PolicyDraft, datetime]:
    require(author, Act.POLICY_DRAFT)
    draft, at = _locked(draft_id)
    if draft.author_id != author.pk:
        raise NotAllowed(f"This is {draft.author.label}’s draft. Begin one of your own to change something.")
    _refuse_closed(draft)
    _refuse_stale(draft, version)
    return draft, at


def _locked(draft_id: UUID) -> tuple[PolicyDraft, datetime]:
    try:
        draft = PolicyDraft.objects.select_for_update(of=("self",)).select_related("author").get(pk=draft_id)
    except PolicyDraft.DoesNotExist:
        raise NotFound("There is no such draft of the policy.") from None
    return draft, now()


def _refuse_closed(draft: PolicyDraft) -> None:
    if draft.published_version is not None:
        raise Conflict(
            f"This draft was published as version {draft.published_version}. Begin a new one to change more.",
            slug="draft-closed",
        )
    if draft.closed_at is not None:
        raise Conflict("This draft was discarded. Begin a new one.", slug="draft-closed")


def _refuse_stale(draft: PolicyDraft, version: int) -> None:
    if draft.version != version:
        raise Conflict(
            "The draft was saved again after you opened this page. Look at it as it is now.",
            slug="draft-changed",
            extra={"version": draft.version},
        )


def _write(draft: PolicyDraft, at: datetime) -> None:
    draft.version += 1
    draft.changed_at = at
    draft.save(
        update_fields=[
            "document", "note", "based_on", "version", "changed_at", "closed_at", "published_version",
        ]
    )  # fmt: skip


def _check_note(note: str) -> None:
    if len(note) > LONGEST_NOTE or "\x00" in note:
        text = f"The reason has at most {LONGEST_NOTE} characters of text."
        raise InvalidInput(text, errors=[ProblemError("note", "invalid", text)])


def _record(
    action: str, draft: PolicyDraft, actor: Actor, at: datetime, *, after: JSONObject | None = None
) -> None:
    audit.record(
        audit.Entry(
            action=action,
            actor=actor,
            subject=("policy", "policy"),
            at=at,
            reason=draft.note or None,
            after={"draft": str(draft.pk), "based_on": draft.based_on, **(after or {})},
            policy_version=draft.based_on or None,
        )
    )
