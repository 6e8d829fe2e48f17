"""Members that are missing, empty, of a wrong type, or outside the vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import jsonschema_rs

from checkpoints.checks.kinds import ENVELOPE, HANDOFF, kind_of, schema_of, wrong_kinds
from checkpoints.checks.shape import (
    ENGINE,
    View,
    escape,
    filled,
    is_blank,
    place,
    shown,
    view,
)
from checkpoints.checks.text import has_suspicious
from checkpoints.formats import ENVELOPE_MEMBERS, STATUSES, is_other_id
from checkpoints.formats import FORMATS as ALL_FORMATS
from checkpoints.formats.reading import fold, folded_risk, instant
from checkpoints.types import CheckContext, Hit, JSONValue, Submission

FORMATS = ("*",)

# Logical member -> where it belongs when the sender left it out.
REQUIRED: Final = {
    "agent_role": "/agent_role",
    "agent_id": "/agent_id",
    "task_id": "/task_id",
    "task_status": "/task_status",
    "completed_steps": "/completed_steps",
    "pending_decisions": "/pending_decisions",
    "active_constraints": "/active_constraints",
    "context_snapshot": "/context_snapshot",
    "context_fingerprint": "/context_fingerprint",
    "consistency_hash": "/consistency_hash",
    "target_role": "/handoff_target/target_role",
    "produced_at": "/timestamp",
}
_LISTS: Final = ("completed_steps", "pending_decisions", "active_constraints")
_NAMED: Final = ("agent_id", "task_id")  # required, and ids: 1 to 200 printable ASCII characters
_NESTED: Final = frozenset(
    {"expected_return", "idempotency_key", "max_retries", "rollback_notes", "user_intent", "handoff_reason"}
)
_HANDOFF_SHAPE: Final = jsonschema_rs.Draft202012Validator(schema_of(HANDOFF))
_UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_RISKS: Final = "low, medium, high, normal, critical"
_DIGEST_HELP: Final = "Have the orchestrator compute it: POST /api/v1/digests."


def missing(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-01."""
    document = view(submission)
    if not document.is_handoff:
        return
    for member, home in REQUIRED.items():
        # The hash covers the payload's own task_id: one in the envelope does not replace it.
        places = document.in_payload(member) if member == "task_id" else document.everywhere(member)
        if places or _stands_elsewhere(document, member):
            continue
        found = document.get(member) if member != "task_id" or document.given(member) is None else None
        pointer = found.pointer if found else _home(document, member, home)
        if pointer is None:
            continue
        name = pointer.rpartition("/")[2]
        tail = _DIGEST_HELP if member in ("context_fingerprint", "consistency_hash") else "Send it."
        state = "null" if found else "missing"
        yield Hit(
            "HC-01", pointer, f"{name} is {state}. A handoff cannot be judged without it. {tail}", "a value"
        )


def _stands_elsewhere(document: View, member: str) -> bool:
    """A context stored elsewhere: a reference, and a fingerprint of what stands there."""
    return member == "context_snapshot" and bool(
        document.text("context_reference") and document.text("context_fingerprint")
    )


def _home(document: View, member: str, home: str) -> str | None:
    """Where a missing member belongs; None where its holder has a wrong type, which HC-03 says."""
    payload = document.submission.payload
    if member == "target_role":
        holder = payload.get("handoff_target")
        return home if holder is None or isinstance(holder, dict) else None
    for name in ("task_status", "task_state"):
        holder = payload.get(name)
        if isinstance(holder, dict) and member == "task_status":
            return f"/{name}/status"
    return home


def empty(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-02."""
    document = view(submission)
    if not document.is_handoff:
        return
    for member in REQUIRED:
        found = document.given(member)
        if found is None:
            continue
        if isinstance(found.value, str) and is_blank(found.value):
            yield Hit(
                "HC-02",
                found.pointer,
                f"{found.name} is empty. Send its value.",
                "a non-empty string",
                found.value,
            )
        elif context.policy.strict_non_empty and found.value in ([], {}):
            yield Hit(
                "HC-02",
                found.pointer,
                f"{found.name} is empty, and the policy demands content in every required member.",
                "at least one entry",
                found.value,
            )
    yield from _malformed_ids(document)


def _malformed_ids(document: View) -> Iterator[Hit]:
    for member in _NAMED:
        found = document.given(member)
        if found is None or not isinstance(found.value, str) or is_blank(found.value):
            continue
        # Invisible and confusable characters are HC-84's to explain.
        if is_other_id(found.value) or has_suspicious(found.value, strict=True):
            continue
        yield Hit(
            "HC-02",
            found.pointer,
            f"{found.name} has {len(found.value)} characters or some outside printable ASCII. Ids are 1 to "
            "200 printable ASCII characters.",
            "1 to 200 printable ASCII characters",
            shown(found.value),
        )


def wrong_types(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-03."""
    plans = [(submission.envelope, ENVELOPE)]
    if submission.format == "handoff/1":
        if not _HANDOFF_SHAPE.is_valid(submission.payload):
            plans.append((submission.payload, HANDOFF))
    elif submission.form == "flat":
        own = ALL_FORMATS[submission.format].members
        plans.append((submission.payload, {name: plan for name, plan in ENVELOPE.items() if name not in own}))
    for holder, plan in plans:
        for wrong in wrong_kinds(holder, plan):
            yield Hit(
                "HC-03",
                wrong.pointer,
                f"{place(wrong.pointer)} is {kind_of(wrong.value)} ({shown(wrong.value, 60)}), not "
                f"{wrong.expected}. Types are not converted: send the right one.",
                wrong.expected,
                _actual(wrong.value),
            )


def _actual(value: JSONValue) -> JSONValue:
    return shown(value) if isinstance(value, str | list | dict) else value


def unknown_words(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-04. Case, spaces and hyphens are forgiven."""
    document = view(submission)
    if document.is_handoff:
        for found in document.everywhere("task_status"):
            value = filled(found.value)
            if value is not None and fold(value) not in STATUSES:
                yield Hit(
                    "HC-04",
                    found.pointer,
                    f"{found.name} is {shown(value, 60)}. Use one of {', '.join(STATUSES)}.",
                    list(STATUSES),
                    shown(value),
                )
    for found in document.everywhere("risk_level"):
        value = filled(found.value)
        if value is not None and folded_risk(value) is None:
            yield Hit(
                "HC-04",
                found.pointer,
                f"risk_level is {shown(value, 60)}. Use one of {_RISKS}.",
                [*_RISKS.split(", ")],
                shown(value),
            )


def bad_times(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-05."""
    document = view(submission)
    for found in document.everywhere("produced_at"):
        yield from _time_hit(found.pointer, found.value)
    if not document.is_handoff:
        return
    for step in document.steps or ():
        # A step's time that was read and ends with Z is in UTC: most do, and nothing more is to be said.
        value = step.members.get("completed_at")
        if step.completed_at is None or not (isinstance(value, str) and value.endswith("Z")):
            yield from _time_hit(f"{step.pointer}/completed_at", value)
    current = document.current_step
    if current is not None:
        yield from _time_hit(f"{current.pointer}/started_at", current.members.get("started_at"))


def _time_hit(pointer: str, value: JSONValue) -> Iterator[Hit]:
    text = filled(value)
    if text is None or (instant(text) is not None and text.endswith(("Z", "z", "+00:00"))):
        return
    yield Hit(
        "HC-05",
        pointer,
        f"{place(pointer)} is {shown(text, 60)}. Send a time in UTC such as 2026-11-30T12:00:00Z.",
        "RFC 3339 in UTC",
        shown(text),
    )


def unknown_members(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-06. An engine's envelope has EC-55 for this."""
    if submission.format == ENGINE:
        return
    for name in submission.document if submission.form == "envelope" else ():
        if name not in ENVELOPE_MEMBERS and name != "consistency_issues":
            yield _unknown(name, "the envelope")
    if submission.format != "handoff/1":
        return
    known = {*ALL_FORMATS["handoff/1"].members, *ENVELOPE_MEMBERS, *_NESTED}
    for name in submission.payload:
        if name not in known:
            yield _unknown(name, "a handoff checkpoint")


def _unknown(name: str, holder: str) -> Hit:
    return Hit(
        "HC-06",
        f"/{escape(name)}",
        f"{shown(name, 60)} is no member of {holder}. It has no effect here: check its spelling or its "
        "version.",
        actual=shown(name),
    )


def id_is_no_uuid(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-08."""
    identity = submission.checkpoint_id
    if submission.format == "handoff/1" and identity is not None and not _UUID.fullmatch(identity):
        yield Hit(
            "HC-08",
            "/checkpoint_id",
            f"checkpoint_id {identity} is not a UUID. Use a fresh UUID for every checkpoint.",
            "a UUID",
            identity,
        )


CHECKS = (
    missing,
    empty,
    wrong_types,
    unknown_words,
    bad_times,
    unknown_members,
    id_is_no_uuid,
)
