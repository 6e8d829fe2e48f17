"""How much a checkpoint carries, and whether it carries pointers or the things themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkpoints.checks.shape import HANDOFF, View, is_blank, place, shown, view
from checkpoints.checks.tokens import context_tokens
from checkpoints.types import CheckContext, Hit, JSONValue, Severity, Submission

FORMATS = ("*",)

SUMMARY_LINES: Final = 30
SUMMARY_CHARACTERS: Final = 4000
JSON_CHARACTERS: Final = 300
UNBROKEN_CHARACTERS: Final = 300
REFERENCE_CHARACTERS: Final = 2048
REFERENCE_WORDS: Final = 8
TRANSCRIPT_LINES: Final = 4

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_UNBROKEN: Final = re.compile(rf"\S{{{UNBROKEN_CHARACTERS}}}")
_SPEAKER: Final = re.compile(
    r"^[\s*_>#\[\"'-]{0,8}(user|assistant|human|ai|system|agent|bot|customer|tool|developer|model)"
    r"[\s*_\]\"']{0,4}:",
    re.IGNORECASE | re.MULTILINE,
)


def document_too_large(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-07: low for other formats than handoff/1."""
    limit = context.policy.max_document_bytes
    if submission.body_size > limit:
        yield Hit(
            "HC-07",
            "",
            f"The document has {submission.body_size} bytes; the policy allows {limit}. Store large "
            "content elsewhere and pass references.",
            f"at most {limit} bytes",
            submission.body_size,
            severity=None if submission.format == HANDOFF else Severity.LOW,
        )


def context_too_long(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-71: low for other formats than handoff/1."""
    limit = context.policy.max_context_tokens
    count = context_tokens(submission, context)
    if count <= limit:
        return
    is_handoff = submission.format == HANDOFF
    name = "context_snapshot" if is_handoff else "The conversation"
    yield Hit(
        "HC-71",
        "/context_snapshot" if is_handoff else "/messages",
        f"{name} takes {count} tokens; the policy allows {limit}. Keep what the next agent needs and drop "
        "the rest.",
        f"at most {limit} tokens",
        count,
        severity=None if is_handoff else Severity.LOW,
    )


def references(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-57 and HC-58."""
    document = view(submission)
    if not document.is_handoff:
        return
    allowed = context.policy.reference_schemes
    for pointer, value in _references(document):
        text = value.strip()
        scheme = _scheme(text)
        raw = _raw_output(text, scheme)
        if raw is not None:
            yield Hit(
                "HC-57",
                pointer,
                f"{place(pointer)} holds {raw} instead of a pointer to it. Store the output and pass its "
                "address.",
                f"a reference such as {allowed[0] if allowed else 'artifact'}://…",
                shown(text),
            )
        elif scheme is not None and scheme not in allowed:
            yield Hit(
                "HC-58",
                pointer,
                f"{place(pointer)} {shown(text, 100)} has the scheme {scheme}, which the policy does not "
                f"allow (allowed: {', '.join(allowed) or 'none'}). The receiver could not fetch it safely.",
                [*allowed],
                shown(text),
            )


def _references(document: View) -> Iterator[tuple[str, str]]:
    for step in document.steps or ():
        yield from _text(f"{step.pointer}/output_reference", step.members.get("output_reference"))
    for output in document.tool_outputs:
        yield from _text(
            f"{output.pointer}/full_result_reference", output.members.get("full_result_reference")
        )
    reference = document.given("context_reference")
    if reference is not None:
        yield from _text(reference.pointer, reference.value)


def _text(pointer: str, value: JSONValue) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and value.strip():
        yield pointer, value


def _scheme(text: str) -> str | None:
    found = _SCHEME.match("".join(text[:100].split()))
    return found[1].lower() if found else None


def _raw_output(text: str, scheme: str | None) -> str | None:
    """What stands in a reference field instead of a reference, or None."""
    if scheme == "data":
        return "embedded data"
    if text[0] in "{[<" or text.startswith("```"):
        return "raw content"
    if "\n" in text:
        return f"{text.count(chr(10)) + 1} lines of text"
    if len(text) > REFERENCE_CHARACTERS:
        return f"{len(text)} characters"
    if len(text.split(None, REFERENCE_WORDS)) > REFERENCE_WORDS:
        return "a text"
    return None


def dumps(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-59."""
    document = view(submission)
    for output in document.tool_outputs:
        yield from _dump(f"{output.pointer}/result_summary", output.members.get("result_summary"))
    current = document.current_step if document.is_handoff else None
    if current is not None:
        yield from _dump(f"{current.pointer}/partial_output", current.members.get("partial_output"))


def _dump(pointer: str, value: JSONValue) -> Iterator[Hit]:
    text = value if isinstance(value, str) else "" if value is None else shown(value, SUMMARY_CHARACTERS)
    what = _dump_kind(text.strip())
    if what is not None:
        yield Hit(
            "HC-59",
            pointer,
            f"{place(pointer)} holds {what}: that is the output itself, not a summary of it. Say in a few "
            "sentences what came out, and refer to the rest.",
            "a condensed output",
            shown(text),
        )


def _dump_kind(text: str) -> str | None:
    lines = text.count("\n") + 1
    if lines > SUMMARY_LINES:
        return f"{lines} lines"
    if len(text) > SUMMARY_CHARACTERS:
        return f"{len(text)} characters"
    if len(text) > JSON_CHARACTERS and text[0] in "{[<":
        return "a structured document"
    if _UNBROKEN.search(text):
        return "an unbroken block of data"
    return None


def unmatched_tool_outputs(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-60."""
    for output in view(submission).tool_outputs:
        lacking = [
            member
            for member in ("tool_name", "call_id", "full_result_reference")
            if is_blank(output.members.get(member))
        ]
        if lacking:
            yield Hit(
                "HC-60",
                f"{output.pointer}/{lacking[0]}",
                f"{place(output.pointer)} has no {' and no '.join(lacking)}: its result cannot be matched "
                "to a call, or not be fetched.",
                "a value",
                output.members.get(lacking[0]),
            )


def call_ids_twice(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-56."""
    first: dict[str, str] = {}
    for output in view(submission).tool_outputs:
        if output.call_id is None:
            continue
        if output.call_id in first:
            yield Hit(
                "HC-56",
                f"{output.pointer}/call_id",
                f"Tool call {shown(output.call_id, 80)} stands in {place(first[output.call_id])} and in "
                f"{place(output.pointer)}: one effect was recorded twice, or two results share an id.",
                "each call_id once",
                shown(output.call_id),
            )
        else:
            first[output.call_id] = output.pointer


def intent_is_empty(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-72."""
    document = view(submission)
    if document.context is None:
        return
    value = document.context.get("user_intent")
    if is_blank(value):
        yield Hit(
            "HC-72",
            "/context_snapshot/user_intent",
            "user_intent is empty: the receiver does not know what the user wants.",
            "a sentence",
            value,
        )


def transcripts(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-73."""
    for member in ("key_facts", "session_highlights"):
        value = (view(submission).context or {}).get(member)
        entries = value if isinstance(value, list) else [value]
        speakers = [
            found.lower() for entry in entries if isinstance(entry, str) for found in _SPEAKER.findall(entry)
        ]
        if len(speakers) >= TRANSCRIPT_LINES and len(set(speakers)) > 1:
            yield Hit(
                "HC-73",
                f"/context_snapshot/{member}",
                f"{member} reads like a transcript: {len(speakers)} lines begin with a speaker "
                f"({', '.join(sorted(set(speakers)))}). Write down what was found out, not who said what.",
                "facts",
                len(speakers),
            )


CHECKS = (
    document_too_large,
    context_too_long,
    references,
    dumps,
    unmatched_tool_outputs,
    call_ids_twice,
    intent_is_empty,
    transcripts,
)
