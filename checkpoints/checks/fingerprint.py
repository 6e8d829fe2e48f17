"""`context_fingerprint`: whether the context is the one that was fingerprinted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoints.canonical import context_fingerprint, engine_fingerprint, normalize_claimed
from checkpoints.checks.shape import ENGINE, shown, view
from checkpoints.types import CheckContext, Hit, Severity, Submission

FORMATS = ("handoff/1", ENGINE)

_HELP: Final = "Have the orchestrator compute it: POST /api/v1/digests."


def fingerprint_differs(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-15."""
    document = view(submission)
    text = document.text("context_fingerprint")
    if text is None:
        return
    pointer = document.pointer("context_fingerprint", "/context_fingerprint")
    if submission.format == ENGINE:
        expected, covered = _engine_fingerprint(submission), "messages and contextState"
    elif document.context is not None:
        expected, covered = context_fingerprint(document.context), "context_snapshot"
    elif document.text("context_reference") and document.given("context_snapshot") is None:
        yield _not_comparable(pointer, document.text("context_reference") or "")
        return
    else:
        return
    claimed = normalize_claimed(text.strip())
    if expected is not None and claimed != expected:
        problem = "is not a SHA-256" if claimed is None else f"does not match {covered}"
        yield Hit(
            "HC-15",
            pointer,
            f"context_fingerprint {shown(text, 24)} {problem}: the context was changed after it was "
            f"fingerprinted, or the value was invented. {_HELP}",
            expected,
            shown(text),
        )


def _engine_fingerprint(submission: Submission) -> str | None:
    payload = submission.payload
    if "messages" not in payload or "contextState" not in payload:
        return None
    return engine_fingerprint(payload["messages"], payload["contextState"])


def _not_comparable(pointer: str, reference: str) -> Hit:
    return Hit(
        "HC-15",
        pointer,
        f"The context stands at {shown(reference, 120)}, which is never fetched, so context_fingerprint is "
        "not compared. The receiving agent must compare it.",
        severity=Severity.LOW,
    )


CHECKS = (fingerprint_differs,)
