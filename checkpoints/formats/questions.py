"""How a framework's pause reads as a pending decision."""

from __future__ import annotations

import json
from typing import Final

from checkpoints.formats.reading import mapping, mappings, options, sequence, strings, text
from checkpoints.types import JSONValue, PendingDecision

APPROVE_OR_REJECT: Final = ("approve", "reject")


def written(value: JSONValue) -> str:
    """A value as JSON; a string, which is often JSON already, as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def call_decision(decision_id: str, name: str, arguments: JSONValue, pointer: str) -> PendingDecision:
    """May this tool be called with these arguments?"""
    return PendingDecision(
        decision_id=decision_id,
        question=f"Run {name}({'' if arguments is None else written(arguments)})?",
        options=APPROVE_OR_REJECT,
        blocking=True,
        pointer=pointer,
    )


def asked(decision_id: str, value: JSONValue, pointer: str) -> PendingDecision:
    """A question in whatever shape the application gave it: a text, or an object with the usual names."""
    choices: tuple[str, ...] = ()
    question = ""
    if isinstance(value, dict):
        question = next(
            (
                found
                for name in ("question", "prompt", "message", "description", "hint")
                if (found := text(value, name))
            ),
            "",
        )
        choices = options(sequence(value, "options") or sequence(value, "choices"))
        if requests := mappings(value, "action_requests"):
            question = " ".join(
                f"Run {text(request, 'name') or text(request, 'action') or 'a tool'}"
                f"({written(request.get('args', request.get('arguments')))})?"
                for _, request in requests
            )
            choices = strings(
                choice
                for _, config in mappings(value, "review_configs")
                for choice in sequence(config, "allowed_decisions")
            )
    elif isinstance(value, str):
        question = value
    return PendingDecision(
        decision_id=decision_id,
        question=question or written(value),
        options=choices,
        blocking=True,
        pointer=pointer,
        recommendation=text(value, "recommendation"),
    )


def spoken(content: JSONValue) -> str | None:
    """The text of a message's content: a string, or a list of parts of which some hold text."""
    if isinstance(content, str):
        return content or None
    parts = [text(part, "text") for _, part in mappings({"parts": content}, "parts")]
    joined = " ".join(part for part in parts if part)
    return joined or text(mapping({"part": content}, "part"), "text")
