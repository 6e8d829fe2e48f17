"""The snapshot by meaning: what a reader looks for, in the order in which they look."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from checkpoints.formats import received
from checkpoints.formats.reading import mapping, mappings, sequence, text
from checkpoints.types import JSONObject, JSONValue, PendingDecision, Submission
from reviewqueue.pages.tree import anchor, child

MOST_ITEMS = 100  # of one list; the raw tree has them all


@dataclass(frozen=True, slots=True)
class Step:
    name: str
    text: str
    anchor: str
    detail: str = ""
    at: str = ""
    kind: str = "done"  # done | now | open | failed | unknown
    label: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part: steps, words, pairs or talk."""

    title: str
    kind: str  # steps | words | pairs | talk
    items: list[Step] = field(default_factory=list)
    left_out: int = 0


def sections(submission: Submission) -> list[Section]:
    """The parts of a document in a known format; empty for those that are only shown raw."""
    if submission.format == "handoff/1":
        found = _handoff(submission.payload)
    elif submission.format == "prompty.engine/1":
        found = _engine(submission.payload)
    else:
        return []
    return [_short(section) for section in found if section.items]


def _short(section: Section) -> Section:
    left_out = len(section.items) - MOST_ITEMS
    if left_out <= 0:
        return section
    return Section(section.title, section.kind, section.items[:MOST_ITEMS], left_out)


def _handoff(payload: JSONObject) -> Iterator[Section]:
    yield Section("What was done", "steps", [*_completed(payload), *_in_progress(payload)])
    yield Section(
        "Decisions it leaves open",
        "steps",
        [
            Step(
                name=text(item, "decision_id") or "",
                text=text(item, "question") or "",
                detail=" / ".join(_plain(option) for option in sequence(item, "options")),
                anchor=anchor(f"/pending_decisions/{index}"),
                kind="open",
                label="blocks" if item.get("blocking") is True else "",
            )
            for index, item in mappings(payload, "pending_decisions")
        ],
    )
    constraints = sequence(payload, "active_constraints")
    yield Section(
        "Constraints in force",
        "words",
        [
            Step("", _plain(item), anchor(f"/active_constraints/{index}"))
            for index, item in enumerate(constraints)
        ],
    )
    yield Section(
        "Tools that ran",
        "steps",
        [
            Step(
                name=text(item, "tool_name") or "unnamed tool",
                text=text(item, "result_summary") or "",
                detail=text(item, "full_result_reference") or "",
                anchor=anchor(f"/tool_outputs/{index}"),
                label=text(item, "call_id") or "",
            )
            for index, item in mappings(payload, "tool_outputs")
        ],
    )
    yield Section("Context given to the next agent", "pairs", list(_pairs(payload, "context_snapshot")))
    yield Section("If it fails", "pairs", list(_pairs(payload, "recovery_instructions")))


def _completed(payload: JSONObject) -> Iterator[Step]:
    found = received(payload, {}, "completed_steps")
    if found is None:
        return
    for index, item in mappings({"steps": found.value}, "steps"):
        yield Step(
            name=text(item, "step_id") or "",
            text=text(item, "description") or "",
            detail=text(item, "output_reference") or "",
            at=text(item, "completed_at") or "",
            anchor=anchor(child(found.pointer, index)),
        )


def _in_progress(payload: JSONObject) -> Iterator[Step]:
    found = received(payload, {}, "in_progress_step")
    if found is None or not isinstance(found.value, dict) or not any(found.value.values()):
        return
    yield Step(
        name=text(found.value, "step_id") or "",
        text=text(found.value, "description") or "",
        detail=text(found.value, "partial_output") or "",
        at=text(found.value, "started_at") or "",
        anchor=anchor(found.pointer),
        kind="now",
        label="in progress",
    )


def _pairs(payload: JSONObject, member: str) -> Iterator[Step]:
    for name, value in mapping(payload, member).items():
        if value in (None, "", [], {}):
            continue
        yield Step(name, _plain(value), anchor(child(f"/{member}", name)))


def _engine(payload: JSONObject) -> Iterator[Section]:
    yield Section("Effects", "steps", [*_results(payload), *_requests(payload)])
    yield Section("Conversation", "talk", list(_messages(payload)))
    state = {
        name: payload.get(name)
        for name in (
            "iteration",
            "completedModelIterations",
            "lastSequence",
            "reconciliationRequired",
            "finalOutputReady",
        )
        if name in payload
    }
    yield Section(
        "Position of the engine",
        "pairs",
        [Step(name, _plain(value), anchor(f"/{name}")) for name, value in state.items()],
    )
    output = payload.get("pendingOutput")
    if output is not None:
        yield Section(
            "Output that would be committed", "words", [Step("", _plain(output), anchor("/pendingOutput"))]
        )


def _results(payload: JSONObject) -> Iterator[Step]:
    kinds = {"success": "done", "failed": "failed", "indeterminate": "unknown"}
    for index, item in mappings(payload, "completedToolResults"):
        outcome = text(item, "outcome") or "no outcome"
        yield Step(
            name=text(item, "name") or "unnamed tool",
            text=_plain(item["output"]) if item.get("output") is not None else "",
            detail=text(item, "errorKind") or "",
            anchor=anchor(f"/completedToolResults/{index}"),
            kind=kinds.get(outcome, "unknown"),
            label="outcome unknown" if outcome == "indeterminate" else outcome,
        )


def _requests(payload: JSONObject) -> Iterator[Step]:
    for index, item in mappings(payload, "pendingToolRequests"):
        yield Step(
            name=text(item, "name") or "unnamed tool",
            text=_plain(item.get("arguments", "")),
            anchor=anchor(f"/pendingToolRequests/{index}"),
            kind="open",
            label="will run next",
        )


def _messages(payload: JSONObject) -> Iterator[Step]:
    for index, item in mappings(payload, "messages"):
        parts = [
            text(part, "value") or f"[{text(part, 'kind') or 'part'}: {(text(part, 'source') or '')[:80]}]"
            for _, part in mappings(item, "parts")
        ]
        yield Step(text(item, "role") or "no role", "\n".join(parts), anchor(f"/messages/{index}"))


def _plain(value: JSONValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(str(item) for item in value)
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A pending decision with what the page knows about it."""

    asked: PendingDecision
    field: str  # the form's name for the answer
    anchor: str


def questions(submission: Submission) -> list[ShownQuestion]:
    return [
        ShownQuestion(asked, f"answer:{asked.decision_id}", anchor(asked.pointer))
        for asked in submission.facts.pending_decisions
    ]
