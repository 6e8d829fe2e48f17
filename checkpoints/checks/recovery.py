"""What a retry needs: an idempotency key, a bound on attempts, and what to undo."""

from __future__ import annotations

from collections.abc import Iterator

from checkpoints.checks.shape import HANDOFF, View, is_blank, shown, view
from checkpoints.types import CheckContext, Hit, Submission

FORMATS = ("*",)


def idempotency_key_missing(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-66."""
    document = view(submission)
    found = document.get("idempotency_key")
    if submission.format != HANDOFF or (found is not None and not is_blank(found.value)):
        return
    if found is None and _holder_is_broken(document):
        return
    derived = f"{submission.session_id}:{context.handoff_sequence}:{submission.facts.task_id or ''}"
    yield Hit(
        "HC-66",
        found.pointer if found else "/recovery_instructions/idempotency_key",
        f"idempotency_key is missing, so a retry may repeat effects. {derived} is used instead.",
        derived,
        found.value if found else None,
    )


def _holder_is_broken(document: View) -> bool:
    holder = document.submission.payload.get("recovery_instructions")
    return holder is not None and not isinstance(holder, dict)


def idempotency_key_reused(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-67."""
    user, key = context.idempotency_key_used_by, submission.facts.idempotency_key
    if user is None or key is None or user == context.checkpoint_id:
        return
    yield Hit(
        "HC-67",
        view(submission).pointer("idempotency_key", "/idempotency_key"),
        f"idempotency_key {shown(key, 100)} was already used by checkpoint {user}: the receiver would "
        "ignore this handoff as a repetition of that one.",
        "a key of its own",
        shown(key),
    )


def retry_limit(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-68 and HC-69."""
    document, limit = view(submission), context.policy.max_retries
    found = document.given("max_retries")
    allowed = limit
    if found is not None and isinstance(found.value, int | float) and not isinstance(found.value, bool):
        if isinstance(found.value, int) and 0 <= found.value <= limit:
            allowed = found.value
        else:
            yield Hit(
                "HC-68",
                found.pointer,
                f"max_retries is {found.value}. Use an integer from 0 to {limit}, the policy's limit, "
                "which counts instead.",
                f"0 to {limit}",
                found.value,
            )
    attempt = document.given("attempt")
    if attempt is None or type(attempt.value) is not int or attempt.value <= allowed:
        return
    yield Hit(
        "HC-69",
        attempt.pointer,
        f"attempt is {attempt.value}, but only {allowed} retries are allowed. It should have been "
        "escalated to the fallback role.",
        f"at most {allowed}",
        attempt.value,
    )


def nothing_to_undo_said(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-70."""
    document = view(submission)
    if submission.format != HANDOFF or not document.tool_outputs or _holder_is_broken(document):
        return
    found = document.get("rollback_notes")
    if found is not None and not is_blank(found.value):
        return
    tools = list(dict.fromkeys(submission.facts.tool_names)) or ["a tool"]
    yield Hit(
        "HC-70",
        found.pointer if found else "/recovery_instructions/rollback_notes",
        f"Tools ran ({shown(', '.join(tools), 120)}), but rollback_notes is empty: after a failure nobody "
        "knows what to undo or to skip. Say so even where nothing has to be undone.",
        "a sentence",
        found.value if found else None,
    )


CHECKS = (idempotency_key_missing, idempotency_key_reused, retry_limit, nothing_to_undo_said)
