"""What may harm whoever reads the checkpoint: credentials, forgotten template text, deceiving characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkpoints.checks.secrets import KINDS, kinds_in, mask
from checkpoints.checks.shape import HANDOFF, place, shown, strings, view
from checkpoints.checks.text import suspicious
from checkpoints.types import CheckContext, Hit, JSONObject, Severity, Submission

FORMATS = ("*",)

# The bracket names of a checkpoint prompt, and the sentences that stand where a value belongs.
BRACKET_NAMES: Final = (
    "ROLE_REGISTRY",
    "TASK_QUEUE",
    "RISK_LEVEL",
    "AGENT_ROLE",
    "AGENT_ID",
    "AGENT_INSTANCE_ID",
    "TARGET_ROLE",
    "SESSION_ID",
    "TASK_ID",
    "CHECKPOINT_ID",
    "CONTEXT_BUDGET",
    "TOKEN_BUDGET",
    "CONTEXT_TOKEN_BUDGET",
    "MAX_CONTEXT_TOKENS",
    "MAX_TOKENS",
    "MAX_RETRIES",
    "CONSTRAINTS",
    "CONSTRAINT_REGISTRY",
    "ACTIVE_CONSTRAINTS",
    "POLICY_LAYER",
    "TOOL_REGISTRY",
    "TOOL_OUTPUTS",
    "HANDOFF_TARGET",
    "HANDOFF_REASON",
    "SESSION_STATE",
    "SESSION_CONTEXT",
    "CONVERSATION_HISTORY",
    "OUTPUT_SCHEMA",
    "CHECKPOINT_SCHEMA",
    "TIMESTAMP",
)
_BRACKETS: Final = re.compile(rf"\[(?:{'|'.join(BRACKET_NAMES)})\]")
_PHRASES: Final = frozenset(
    {
        "string",
        "boolean",
        "integer",
        "number",
        "array of strings",
        "string or null",
        "boolean or null",
        "integer or null",
        "true or false",
        "true | false",
        "string | null",
        "iso-8601",
        "iso 8601",
        "iso-8601 timestamp",
        "iso-8601 utc timestamp",
        "iso-8601 utc timestamp or null",
        "sha-256",
        "sha-256 hash",
        "sha-256 hex digest",
        "uuid",
        "null if it does not apply",
        "null if not applicable",
    }
)
_OPENINGS: Final = ("string, ", "string (", "string: ", "boolean, ", "integer, ", "iso-8601 utc timestamp, ",
                    "iso-8601 timestamp of ", "sha-256 of ", "sha-256 hash of ")  # fmt: skip
# What the compact text of a document must hold, in lower case, before its strings are looked at one by one.
_TRACES: Final = (
    b'"string',
    b'"boolean',
    b'"integer',
    b'"number"',
    b'"array of',
    b'"true',
    b'"iso',
    b'"sha-256',
    b'"uuid"',
    b'"null if',
    b"|",
)
_BRACKET_TRACE: Final = re.compile(rb"\[[a-z_]{5,}\]")
# "in_progress | blocked | completed", alone or after "one of".
_ENUM: Final = re.compile(r"(?:one of:? )?[a-z_]+(?: ?\| ?[a-z_]+){2,}")


def unfilled_template(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-09."""
    if submission.format != HANDOFF:
        return
    document = view(submission)
    written = (document.written + document.envelope_written).lower()
    if not any(trace in written for trace in _TRACES) and not _BRACKET_TRACE.search(written):
        return
    for pointer, value, is_name in _all_strings(submission):
        phrase = None if is_name else template_text(value)
        if phrase is not None:
            yield Hit(
                "HC-09",
                pointer,
                f"{place(pointer)} still holds the template's text {shown(phrase, 80)!r}. The agent copied "
                "the schema instead of filling it in.",
                "a value of this handoff",
                shown(value),
            )


def template_text(value: str) -> str | None:
    """The part of a value that is the template's own text, or None. A prompt's placeholders must all give one."""
    brackets = _BRACKETS.search(value)
    if brackets:
        return brackets[0]
    folded = value.lower()
    if folded in _PHRASES or folded.startswith(_OPENINGS) or _ENUM.fullmatch(folded):
        return value
    return None


_LITERALS = tuple({literal.encode() for kind in KINDS for literal in kind.literals})


def secrets(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-10. Neither message nor `actual` repeats the secret."""
    document = view(submission)
    # One look at the whole text; only where a literal stands in it are the strings walked.
    written = document.written + document.envelope_written
    if not any(literal in written for literal in _LITERALS):
        return
    for pointer, value, _ in _all_strings(submission):
        for kind in kinds_in(value):
            found = kind.pattern.search(value)
            actual = mask(found[0]) if found else None
            yield Hit(
                "HC-10",
                mask(pointer),
                f"{mask(place(pointer))} holds what looks like a credential ({kind.name}, {actual}). "
                "Checkpoints are kept and shown to people: revoke it, and pass a reference instead.",
                "no credential",
                actual,
            )


def deceiving_characters(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-84: high in ids, roles and tool names."""
    document = view(submission)
    written = document.written + document.envelope_written
    if written.isascii() and b"\\u" not in written and b"\x7f" not in written:
        return
    names = _names(submission)
    for pointer, value, _ in _all_strings(submission):
        strict = value in names
        first = next(suspicious(value, strict=strict), None)
        if first is None:
            continue
        count = sum(1 for _ in suspicious(value, strict=strict))
        more = f", and {count - 1} more" if count > 1 else ""
        yield Hit(
            "HC-84",
            pointer,
            f"{place(pointer)} holds the {first.what} character {first.label} {first.name} at position "
            f"{first.at + 1}{more}. A person reads something else here than the receiving agent.",
            "plain text",
            first.label,
            severity=Severity.HIGH if strict else None,
        )


def _names(submission: Submission) -> frozenset[str]:
    """The ids, roles and tool names of the document: values that programs compare."""
    facts = submission.facts
    single = (
        facts.agent_id,
        facts.agent_role,
        facts.target_role,
        facts.task_id,
        facts.idempotency_key,
        facts.source_id,
        facts.run_id,
        facts.turn_id,
        facts.parent_run_id,
        facts.sender_ticket_reference,
    )
    current = view(submission).current_step
    return frozenset(
        (
            *(value for value in single if value),
            *facts.completed_step_ids,
            *facts.call_ids,
            *facts.tool_names,
            *(decision.decision_id for decision in facts.pending_decisions),
            *((current.step_id,) if current and current.step_id else ()),
        )
    )


def _all_strings(submission: Submission) -> Iterator[tuple[str, str, bool]]:
    yield from strings(submission.payload)
    envelope: JSONObject = submission.envelope
    if envelope:
        yield from strings(envelope)


CHECKS = (unfilled_template, secrets, deceiving_characters)
