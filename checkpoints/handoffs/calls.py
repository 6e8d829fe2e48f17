"""The tool calls a document shows, each with the digest of its result: what HC-82 compares across sessions."""

from __future__ import annotations

from collections.abc import Iterator

from checkpoints.canonical import digest
from checkpoints.formats.engine import FORMAT as ENGINE
from checkpoints.formats.handoff import FORMAT as HANDOFF
from checkpoints.formats.reading import mappings, text
from checkpoints.types import Submission


def call_results(submission: Submission) -> dict[str, str]:
    """call_id -> digest of its result, for formats whose results are read here."""
    return dict(_results(submission))


def _results(submission: Submission) -> Iterator[tuple[str, str]]:
    if submission.format == HANDOFF.name:
        for _, output in mappings(submission.payload, "tool_outputs"):
            call_id = text(output, "call_id")
            if call_id is not None:
                yield call_id, digest(output)
    elif submission.format == ENGINE.name:
        for _, result in mappings(submission.payload, "completedToolResults"):
            request_id = text(result, "requestId")
            if request_id is not None and result.get("outcome") != "indeterminate":
                yield request_id, digest([result.get("name"), result.get("outcome"), result.get("output")])
