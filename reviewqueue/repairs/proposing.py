"""One function per code: what a person would do to a `handoff/1` document about such a finding."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Final

from checkpoints.checks.text import LOOK_ALIKES, suspicious
from checkpoints.formats import STATUSES
from checkpoints.types import CheckPolicy, Facts, JSONObject, JSONValue

RISKS: Final = ("low", "medium", "high")
MOST_TARGETS: Final = 3
SHOWN: Final = 60
REMOVED: Final = "(credential removed)"


@dataclass(frozen=True, slots=True)
class Repair:
    """A sentence that says what would be done, and the payload after it."""

    code: str
    pointer: str
    title: str
    payload: JSONObject


@dataclass(frozen=True, slots=True)
class Sources:
    """What a repair may draw from besides the document: the predecessor's payload, the envelope, the policy."""

    facts: Facts
    envelope: JSONObject
    previous: JSONObject | None
    policy: CheckPolicy


type Proposed = Iterator[tuple[str, JSONObject]]
type Proposer = Callable[[JSONObject, str, Sources], Proposed]


def proposals(finding: Mapping[str, JSONValue], payload: JSONObject, sources: Sources) -> Iterator[Repair]:
    """Repairs of one finding of `payload`. None where only the sender can know what is right."""
    code, pointer = str(finding["code"]), str(finding["pointer"] or "")
    propose = _PROPOSERS.get(code)
    if propose is None:
        return
    for title, repaired in propose(payload, pointer, sources):
        if repaired != payload:
            yield Repair(code, pointer, title, repaired)


# Finding one's way


def _list(payload: JSONObject, name: str) -> list[JSONValue]:
    value = payload.get(name)
    return value if isinstance(value, list) else []


def _id(item: JSONValue, name: str) -> str | None:
    value = item.get(name) if isinstance(item, dict) else None
    return value if isinstance(value, str) else None


def _last(pointer: str) -> tuple[str, int | None]:
    """(list member, index) of a pointer into a list of the top level; (member, None) of another."""
    parts = pointer.split("/")[1:]
    index = int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None
    return (parts[0] if parts else ""), index


def _at(value: JSONValue, pointer: str) -> JSONValue:
    """The value at a pointer; None where nothing stands."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value


def _put(payload: JSONObject, pointer: str, value: JSONValue) -> JSONObject:
    """A copy with `value` at a pointer whose holder exists; the same document where it does not."""
    copy = deepcopy(payload)
    above, _, last = pointer.rpartition("/")
    holder, name = _at(copy, above), last.replace("~1", "/").replace("~0", "~")
    if isinstance(holder, dict):
        holder[name] = value
    elif isinstance(holder, list) and name.isdigit() and int(name) < len(holder):
        holder[int(name)] = value
    return copy


def _without(payload: JSONObject, name: str, index: int) -> JSONObject:
    copy = deepcopy(payload)
    items = _list(copy, name)
    if index < len(items):
        del items[index]
    return copy


def _with(payload: JSONObject, name: str, value: JSONValue, place: int | None = None) -> JSONObject:
    copy = deepcopy(payload)
    items = [*_list(copy, name)]
    items.insert(len(items) if place is None else place, deepcopy(value))
    copy[name] = items
    return copy


def _named(value: JSONValue) -> str:
    text = str(value)
    return f"“{text if len(text) <= SHOWN else text[: SHOWN - 1] + '…'}”"


def _status_name(payload: JSONObject) -> str:
    return "task_status" if "task_status" in payload or "task_state" not in payload else "task_state"


def _with_status(payload: JSONObject, status: str) -> JSONObject:
    copy = deepcopy(payload)
    state = copy.get("task_state")
    if isinstance(state, dict) and not isinstance(copy.get("task_status"), str):
        state["status"] = status
    else:
        for name in ("task_status", "task_state"):
            if isinstance(copy.get(name), str) or name == _status_name(payload):
                copy[name] = status
    return copy


# Words and names


def _known_word(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    value = _at(payload, pointer)
    words = RISKS if pointer.endswith("risk_level") else STATUSES
    if isinstance(value, str):
        folded = value.strip().lower().replace("-", "_").replace(" ", "_")
        for word in difflib.get_close_matches(folded, words, n=2, cutoff=0.5):
            yield f"Write {_named(word)} for {_named(value)}", _put(payload, pointer, word)


def _allowed_target(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    rule = sources.policy.roles.get(sources.facts.agent_role or "")
    allowed = list(rule.may_hand_off_to or ()) if rule else []
    allowed = allowed or [name for name in sources.policy.roles if name != sources.facts.agent_role]
    given = sources.facts.target_role or ""
    near = difflib.get_close_matches(given, allowed, n=MOST_TARGETS, cutoff=0.6)
    for role in (near or sorted(allowed))[:MOST_TARGETS]:
        yield f"Hand it to {_named(role)} instead of {_named(given)}", _put(payload, pointer, role)


def _as_the_envelope(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    name = pointer.rpartition("/")[2]
    if name in sources.envelope:
        value = sources.envelope[name]
        yield f"Write {_named(value)} as the envelope does", _put(payload, pointer, value)


def _one_status(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    for word in dict.fromkeys(
        word for name in ("task_status", "task_state") if isinstance(word := payload.get(name), str)
    ):
        yield f"Let both say {_named(word)}", _with_status(payload, word)


def _without_hidden(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    value = _at(payload, pointer)
    if isinstance(value, str) and (plain := _plain(value)) != value:
        yield "Take the hidden characters out and spell look-alikes plainly", _put(payload, pointer, plain)


def _plain(text: str) -> str:
    """Without characters that nobody sees; letters that look like ASCII ones become those."""
    found = list(suspicious(text, strict=" " not in text))
    hidden = {item.at for item in found if item.what != "confusable"}
    shown = "".join(character for at, character in enumerate(text) if at not in hidden)
    if any(item.what == "confusable" for item in found):
        shown = "".join(LOOK_ALIKES.get(character, character) for character in shown)
    return shown


def _without_credential(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    if isinstance(_at(payload, pointer), str):
        yield f"Write {_named(REMOVED)} in place of the credential", _put(payload, pointer, REMOVED)


# Steps, decisions, tool outputs


def _status(word: str) -> Proposer:
    def propose(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
        yield f"Set the status to {_named(word)}", _with_status(payload, word)

    return propose


def _nothing_in_progress(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    yield "Empty the step in progress: it is done", {**deepcopy(payload), "in_progress_step": None}


def _duplicate(key: str) -> Proposer:
    def propose(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
        name, index = _last(pointer)
        items = _list(payload, name)
        if index is None or index >= len(items):
            return
        value = _id(items[index], key)
        first = next((place for place, item in enumerate(items) if _id(item, key) == value), index)
        if first == index:
            return
        copies = "the copy" if items[first] == items[index] else "the second, which differs from the first"
        yield f"Remove {copies} of {_named(value)}", _without(payload, name, index)
        if key == "step_id":
            taken = {_id(item, key) for item in items}
            number = next(count for count in range(2, len(items) + 3) if f"{value}-{count}" not in taken)
            fresh = f"{value}-{number}"
            yield f"Call the second one {_named(fresh)}", _put(payload, f"/{name}/{index}/{key}", fresh)

    return propose


def _lost(name: str, key: str, what: str) -> Proposer:
    """Members of the predecessor's list that this one lacks, each put back where it stood."""

    def propose(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
        here = {_id(item, key) for item in _list(payload, name)}
        for place, item in enumerate(_list(sources.previous or {}, name)):
            value = _id(item, key)
            if value is not None and value not in here:
                yield f"Put the {what} {_named(value)} back", _with(payload, name, item, place)

    return propose


def _as_before(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    name, index = _last(pointer)
    items = _list(payload, name)
    value = _id(items[index], "step_id") if index is not None and index < len(items) else None
    for item in _list(sources.previous or {}, name):
        if value is not None and _id(item, "step_id") == value:
            yield (
                f"Restore the step {_named(value)} as it was before",
                _put(payload, f"/{name}/{index}", item),
            )


def _marks_blocking(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    decisions = _list(payload, "pending_decisions")
    if len(decisions) == 1 and isinstance(decisions[0], dict):
        changed = _put(payload, "/pending_decisions/0/blocking", value=True)
        yield "Mark the pending decision as blocking", changed
    yield "Set the status to “in_progress”", _with_status(payload, "in_progress")


# Constraints


def _lost_constraints(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    here = _list(payload, "active_constraints")
    missing = [item for item in _list(sources.previous or {}, "active_constraints") if item not in here]
    for item in missing:
        yield f"Put the constraint {_named(item)} back", _with(payload, "active_constraints", item)
    if len(missing) > 1:
        everything = {**deepcopy(payload), "active_constraints": [*here, *missing]}
        yield f"Put all {len(missing)} constraints back", everything


def _demanded_constraints(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    policy, facts = sources.policy, sources.facts
    demanded = [
        *policy.required_from.get(facts.agent_role or "", ()),
        *policy.required_to.get(facts.target_role or "", ()),
    ]
    here = _list(payload, "active_constraints")
    for item in dict.fromkeys(demanded):
        if item not in here:
            yield f"Add the constraint {_named(item)}", _with(payload, "active_constraints", item)


def _without_constraint(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    name, index = _last(pointer)
    items = _list(payload, name)
    if index is None or index >= len(items):
        return
    yield f"Remove the constraint {_named(items[index])}", _without(payload, name, index)


def _allowed_retries(payload: JSONObject, pointer: str, sources: Sources) -> Proposed:
    limit = sources.policy.max_retries
    yield f"Allow {limit} retries, as the policy does", _put(payload, pointer, limit)


_PROPOSERS: Final[Mapping[str, Proposer]] = {
    "HC-04": _known_word,
    "HC-10": _without_credential,
    "HC-18": lambda payload, pointer, sources: (
        option
        for proposer in (_nothing_in_progress, _status("in_progress"))
        for option in proposer(payload, pointer, sources)
    ),
    "HC-19": _status("blocked"),
    "HC-22": _marks_blocking,
    "HC-23": _status("blocked"),
    "HC-29": _one_status,
    "HC-31": _duplicate("step_id"),
    "HC-32": _nothing_in_progress,
    "HC-47": _lost("completed_steps", "step_id", "step"),
    "HC-48": _as_before,
    "HC-51": _lost("pending_decisions", "decision_id", "question"),
    "HC-52": _lost_constraints,
    "HC-54": _demanded_constraints,
    "HC-55": _without_constraint,
    "HC-56": _duplicate("call_id"),
    "HC-62": _allowed_target,
    "HC-68": _allowed_retries,
    "HC-76": _as_the_envelope,
    "HC-84": _without_hidden,
}
REPAIRABLE: Final = frozenset(_PROPOSERS)
