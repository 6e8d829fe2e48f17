"""Which JSON type each member of a handoff document and of the envelope has.

A plan is a word for a plain type, a mapping for an object with known members, a one-element tuple for a list.
Null is allowed everywhere (it counts as missing), and what no plan names is free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from checkpoints.checks.shape import escape
from checkpoints.types import JSONObject, JSONValue

type Plan = str | tuple[Plan] | Mapping[str, Plan]

TEXT, INTEGER, BOOLEAN, OBJECT, LIST, ANY = (
    "a string",
    "an integer",
    "a boolean",
    "an object",
    "a list",
    "anything",
)

ENVELOPE: Final[Mapping[str, Plan]] = {
    "previous_checkpoint_id": TEXT,
    "attempt": INTEGER,
    "agent_id": TEXT,
    "agent_role": TEXT,
    "target_role": TEXT,
    "task_id": TEXT,
    "handoff_reason": TEXT,
    "risk_level": TEXT,
    "human_approval_required": BOOLEAN,
    "approval_ticket_reference": TEXT,
    "context_fingerprint": TEXT,
    "context_reference": TEXT,
    "idempotency_key": TEXT,
    "max_retries": INTEGER,
    "produced_at": TEXT,
    "reported_issues": LIST,
    "source": OBJECT,
}

_STEP: Final[Mapping[str, Plan]] = {
    "step_id": TEXT,
    "description": TEXT,
    "output_reference": TEXT,
    "completed_at": TEXT,
}
_CURRENT_STEP: Final[Mapping[str, Plan]] = {
    "step_id": TEXT,
    "description": TEXT,
    "started_at": TEXT,
    "capability": TEXT,
}
_TASK: Final[Mapping[str, Plan]] = {
    "task_id": TEXT,
    "status": TEXT,
    "completed_steps": (_STEP,),
    "in_progress_step": _CURRENT_STEP,
}

HANDOFF: Final[Mapping[str, Plan]] = {
    **ENVELOPE,
    "agent_instance_id": TEXT,
    "timestamp": TEXT,
    "task_status": _TASK,  # a string is a status, too: see _status below
    "task_state": _TASK,
    "completed_steps": (_STEP,),
    "in_progress_step": _CURRENT_STEP,
    "pending_decisions": (
        {"decision_id": TEXT, "question": TEXT, "options": LIST, "recommendation": TEXT, "blocking": BOOLEAN},
    ),
    "active_constraints": (TEXT,),
    "tool_outputs": (
        {"tool_name": TEXT, "call_id": TEXT, "result_summary": TEXT, "full_result_reference": TEXT},
    ),
    "context_snapshot": {"key_facts": (TEXT,), "user_intent": TEXT, "session_highlights": (TEXT,)},
    "handoff_target": {"target_role": TEXT, "handoff_reason": TEXT, "expected_return": BOOLEAN},
    "recovery_instructions": {"idempotency_key": TEXT, "rollback_notes": TEXT, "max_retries": INTEGER},
    "consistency_hash": TEXT,
    "consistency_issues": LIST,
}


_SCHEMA_TYPES: Final = {
    TEXT: "string",
    INTEGER: "number",  # a number with a fraction is HC-68's
    BOOLEAN: "boolean",
    OBJECT: "object",
    LIST: "array",
}


class WrongKind(NamedTuple):
    pointer: str
    name: str
    expected: str
    value: JSONValue


def wrong_kinds(value: JSONValue, plan: Plan, pointer: str = "") -> Iterator[WrongKind]:
    """Every member whose JSON type is not the planned one, in document order."""
    name = pointer.rpartition("/")[2]
    if value is None or plan == ANY:
        return
    if isinstance(plan, str):
        if not _is(value, plan):
            yield WrongKind(pointer, name, plan, value)
    elif isinstance(plan, tuple):
        if isinstance(value, list):
            inner = plan[0]
            for index, item in enumerate(value):
                # An element cannot be absent, so null is a wrong type here.
                if item is None:
                    yield WrongKind(f"{pointer}/{index}", str(index), _expected(inner), None)
                else:
                    yield from wrong_kinds(item, inner, f"{pointer}/{index}")
        else:
            yield WrongKind(pointer, name, LIST, value)
    elif isinstance(value, dict):
        for member, inner in plan.items():
            given = value.get(member)
            if given is not None:
                yield from wrong_kinds(given, inner, f"{pointer}/{escape(member)}")
    elif not (plan is _TASK and isinstance(value, str)):
        yield WrongKind(pointer, name, _expected(plan), value)


def schema_of(plan: Plan) -> JSONObject:
    """The plan as JSON Schema: what it accepts has no `wrong_kinds`. Compiled, it answers that much sooner."""
    if isinstance(plan, str):
        return {"type": [_SCHEMA_TYPES[plan], "null"]} if plan != ANY else {}
    if isinstance(plan, tuple):
        return {"type": ["array", "null"], "items": schema_of(plan[0]) | {"not": {"type": "null"}}}
    types: list[JSONValue] = ["object", "null", "string"] if plan is _TASK else ["object", "null"]
    return {"type": types, "properties": {name: schema_of(inner) for name, inner in plan.items()}}


def kind_of(value: JSONValue) -> str:
    """The JSON type of a value, with its article."""
    kinds = {str: TEXT, bool: BOOLEAN, int: INTEGER, float: "a number", dict: OBJECT, list: LIST}
    return kinds.get(type(value), "null")


def _expected(plan: Plan) -> str:
    if plan is _TASK:
        return "a string or an object"
    if isinstance(plan, str):
        return plan
    return LIST if isinstance(plan, tuple) else OBJECT


def _is(value: JSONValue, kind: str) -> bool:
    if kind == TEXT:
        return isinstance(value, str)
    if kind == BOOLEAN:
        return isinstance(value, bool)
    if kind == INTEGER:
        # A number with a fraction is HC-68's: it has a type that JSON does not tell from an integer.
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, dict) if kind == OBJECT else isinstance(value, list)
