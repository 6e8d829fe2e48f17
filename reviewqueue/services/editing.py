"""Editing: a person's new revision of a document, re-checked, with hashes written by the server (contract §7)."""

from __future__ import annotations

from uuid import UUID

import orjson
from django.conf import settings
from django.db import transaction

from checkpoints.canonical import parse
from checkpoints.errors import InvalidInput, ProblemError, Refused
from checkpoints.faults import fault
from checkpoints.formats import FORMATS, is_envelope, reread
from checkpoints.handoffs.machine import Event, next_state
from checkpoints.handoffs.sealing import sealed
from checkpoints.models import Action, Decision, Handoff
from checkpoints.services.bodies import current_body
from checkpoints.services.revision import revise
from checkpoints.services.transition import announce, lock, move
from checkpoints.types import Actor, JSONObject, JSONValue, Limits, State
from reviewqueue.models import User
from reviewqueue.services.access import Act, require
from reviewqueue.services.claiming import actor_of, reason_problem, refuse_if_claimed
from reviewqueue.services.deciding import refuse_stale

_MISSING = object()


def edit(
    *,
    handoff_id: UUID,
    reviewer: User,
    document: str,
    reason: str,
    content_digest: str,
    version: int,
    request: Actor | None = None,
) -> Decision:
    """Store the edited payload (envelope) or whole document (flat) as a new revision; approvals start anew.

    Raises StaleDecision, ClaimedByAnother, IllegalTransition (409); NotAllowed (403); InvalidInput (422): not
    JSON, no change, a protected field, or a re-check that rejects it. Nothing is stored then.
    """
    require(reviewer, Act.DECIDE)
    if not reason.strip():
        raise reason_problem("Say what you changed and why. The sender and the next approver read it.")
    edited = parsed(document)
    actor = request or actor_of(reviewer)
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        repeated = _repeated(handoff, reviewer, edited, content_digest)
        if repeated:
            return repeated
        next_state(State(handoff.state), Event.EDIT)
        refuse_stale(handoff=handoff, content_digest=content_digest, version=version)
        refuse_if_claimed(handoff=handoff, reviewer=reviewer, at=at)
        whole = whole_of(handoff=handoff, edited=edited)
        seen = {"revision": handoff.revision, "content_digest": handoff.content_digest}
        detail = revise(
            handoff=handoff,
            document=whole,
            author=actor,
            reason=reason.strip(),
            policy_version=handoff.policy_version or 0,
            at=at,
        )
        decision = Decision.objects.create(
            handoff=handoff,
            round=handoff.round,
            action=Action.EDIT.value,
            actor_id=reviewer.public_id,
            actor_label=reviewer.label,
            role=reviewer.role,
            reason=reason.strip(),
            at=at,
            policy_version=handoff.policy_version,
            **seen,
        )
        move(handoff=handoff, event=Event.EDIT, actor=actor, at=at, reason=reason.strip(), detail=detail)
        announce(handoff_ids=[handoff.pk])
        fault("edit.before_commit")
    fault("edit.after_commit")
    return decision


def _repeated(handoff: Handoff, reviewer: User, edited: JSONObject, content_digest: str) -> Decision | None:
    """The decision of the very same edit, sent again by the same person on the same page."""
    last = handoff.decisions.order_by("-at").first()
    if (
        last is None
        or (last.action, last.actor_id, last.content_digest) != ("edit", reviewer.public_id, content_digest)
        or handoff.revision != last.revision + 1
    ):
        return None
    document: JSONObject = orjson.loads(current_body(handoff=handoff))
    again = {**document, "payload": edited} if is_envelope(document) else edited
    return last if sealed(again, format_name=handoff.format) == document else None


def editable_text(*, handoff: Handoff) -> str:
    """The JSON text that the editor starts from: the payload, or the whole flat document."""
    document = orjson.loads(current_body(handoff=handoff))
    shown = document["payload"] if is_envelope(document) else document
    return orjson.dumps(shown, option=orjson.OPT_INDENT_2).decode()


def parsed(text: str) -> JSONObject:
    """The editor's text by the strict rules of admission. Raises InvalidInput (422, or 413 where it is too large)."""
    limits = Limits(settings.BODY_BYTES, settings.BODY_DEPTH, settings.BODY_VALUES)
    try:
        return parse(text.encode("utf-8", "surrogatepass"), limits)
    except Refused as refused:
        raise InvalidInput(
            refused.detail,
            slug=refused.slug,
            status=413 if refused.status == 413 else 422,
            errors=refused.errors or [ProblemError("document", refused.slug, refused.detail)],
        ) from refused


def whole_of(*, handoff: Handoff, edited: JSONObject) -> JSONObject:
    """The whole document with the edit in it and hashes written anew. Raises InvalidInput (422): protected."""
    form = FORMATS[handoff.format]
    if not form.editable:
        message = f"{form.title} documents are shown, not interpreted: they cannot be edited here."
        raise InvalidInput(
            message, slug="not-editable", errors=[ProblemError("document", "not-editable", message)]
        )
    document: JSONObject = orjson.loads(current_body(handoff=handoff))
    envelope = is_envelope(document)
    before = document["payload"] if envelope else document
    errors = [
        ProblemError(pointer, "protected-field", f"{pointer} is protected and must stay as it is.")
        for pointer in form.protected
        if not _same(_at(before, pointer), _at(edited, pointer))
    ]
    if errors:
        raise InvalidInput(
            "Some members are protected: " + ", ".join(item.pointer for item in errors) + ". Put them back.",
            slug="protected-field",
            errors=errors,
        )
    whole = sealed({**document, "payload": edited} if envelope else edited, format_name=handoff.format)
    _refuse_other_kind(orjson.dumps(document), orjson.dumps(whole))
    return whole


def _refuse_other_kind(before: bytes, after: bytes) -> None:
    """An edit that would be read in another form or format, or under other names, escapes every protection."""
    stored, edited = reread(before), reread(after)
    changed = [
        name
        for name in ("form", "format", "session_id", "checkpoint_id", "handoff_sequence")
        if getattr(stored, name) != getattr(edited, name)
    ]
    if changed:
        raise InvalidInput(
            f"The edited document would be read with another {' and '.join(changed)}. Take out what you added "
            "at the top level.",
            slug="protected-field",
            errors=[ProblemError(f"/{name}", "protected-field", f"{name} is protected.") for name in changed],
        )


def _same(before: object, after: object) -> bool:
    return before is after or (
        before is not _MISSING and after is not _MISSING and type(before) is type(after) and before == after
    )


def _at(value: JSONValue, pointer: str) -> object:
    found: object = value
    for name in pointer.split("/")[1:]:
        if not isinstance(found, dict) or name not in found:
            return _MISSING
        found = found[name]
    return found
