"""Saved views of the queue: one's own, and those that everybody sees. What is shared is audited."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from checkpoints.errors import InvalidInput, NotAllowed, NotFound, ProblemError
from checkpoints.services import audit, clock
from checkpoints.types import Actor
from reviewqueue.models import Role, SavedView, User
from reviewqueue.services.access import Act, require

MOST = 30  # of one person
LONGEST_NAME = 60
LONGEST_QUERY = 2000


def visible(user: User) -> QuerySet[SavedView]:
    """A person's own views and the shared ones of others, by name."""
    rows = SavedView.objects.select_related("owner").filter(Q(owner=user) | Q(shared=True))
    return rows.order_by("name", "id")


def save_view(*, owner: User, name: str, query: str, shared: bool, actor: Actor) -> SavedView:
    """Keep `query` under `name`; one's own view of that name is replaced. Raises InvalidInput (422)."""
    require(owner, Act.SEE_QUEUE)
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        text = f"Give the view a name of 1 to {LONGEST_NAME} printable characters."
        raise InvalidInput(text, slug="invalid-form", errors=[ProblemError("name", "invalid", text)])
    if len(query) > LONGEST_QUERY or "\0" in query:
        raise InvalidInput(
            f"A view holds at most {LONGEST_QUERY} characters of filters.", slug="invalid-form"
        )
    with transaction.atomic(durable=True):
        User.objects.select_for_update().get(pk=owner.pk)  # one at a time: the count holds
        own = SavedView.objects.filter(owner=owner)
        known = own.filter(name=name).first()
        if known is None and own.count() >= MOST:
            text = f"You keep {MOST} views already. Remove one first."
            raise InvalidInput(text, slug="invalid-form", errors=[ProblemError("name", "too-many", text)])
        at = clock.now()
        before = _facts(known) if known else None
        view = known or SavedView(owner=owner, name=name, created_at=at)
        view.query, view.shared = query, shared
        view.save()
        if shared or (before and before["shared"]):
            _record("view.shared" if shared else "view.withdrawn", view, before, actor)
    return view


def remove_view(*, view_id: UUID, user: User, actor: Actor) -> str:
    """Remove one's own view; a manager removes shared ones of others too. Returns its name.

    Raises NotFound (404) for one that the person does not see, NotAllowed (403) for another's shared one.
    """
    require(user, Act.SEE_QUEUE)
    with transaction.atomic(durable=True):
        view = visible(user).select_for_update(of=("self",)).filter(pk=view_id).first()
        if view is None:
            raise NotFound("There is no such view any more.")
        if view.owner_id != user.pk and user.role != Role.MANAGER:
            raise NotAllowed(
                f"“{view.name}” is shared by {view.owner.label}, who can remove it, or a manager."
            )
        if view.shared:
            _record("view.removed", view, _facts(view), actor, gone=True)
        view.delete()
    return view.name


def _facts(view: SavedView) -> dict[str, str | bool]:
    return {"name": view.name, "query": view.query, "shared": view.shared}


def _record(
    action: str, view: SavedView, before: dict[str, str | bool] | None, actor: Actor, *, gone: bool = False
) -> None:
    audit.record(
        audit.Entry(
            action=action,
            actor=actor,
            subject=("account", view.owner.public_id),
            at=clock.now(),
            before={**before} if before else None,
            after=None if gone else {**_facts(view)},
        )
    )
