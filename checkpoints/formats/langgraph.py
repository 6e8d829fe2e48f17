"""`langgraph/4`: a checkpoint tuple or state snapshot of LangGraph, as plain JSON.

Messages stand as LangChain's constructor form or as plain objects; both are read, neither is revived.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from checkpoints.formats.form import Format
from checkpoints.formats.outer import with_envelope
from checkpoints.formats.python_literals import read_literal
from checkpoints.formats.questions import asked, spoken
from checkpoints.formats.reading import instant, mapping, mappings, sequence, strings, text
from checkpoints.types import Facts, JSONObject, JSONValue, PendingDecision

MEMBERS: Final = (
    "config",
    "checkpoint",
    "metadata",
    "parent_config",
    "pending_writes",
    "tasks",
    "next",
    "framework",
    "checkpoint_serde",
)
_BRANCH: Final = "branch:to:"
_ACTIVE: Final = ("active_agent", "current_agent", "active")
# A task that wrote one of these, or to any ordinary channel, has gone past its interrupt.
_FINISHED: Final = ("__no_writes__", "__return__")
_PRINTED: Final = "Interrupt(value="
_AFTER_VALUE: Final = (
    ", id='",
    ", resumable=",
    ", response_schema=",
)  # what may follow the value, by release


def read(payload: JSONObject, envelope: JSONObject) -> Facts:
    """Facts of a LangGraph checkpoint. The sender is the active agent, unless that is already the target."""
    checkpoint = mapping(payload, "checkpoint")
    channels = mapping(checkpoint, "channel_values")
    upcoming = _upcoming(payload, channels)
    target = upcoming[0] if upcoming else None
    active = next((found for name in _ACTIVE if (found := text(channels, name))), None)
    if active is None or active == target:
        active = _last_node(checkpoint) or active
    waiting = tuple(_interrupts(payload))
    # Before the first step the input stands in the channel `__start__`.
    spoken_in = channels if "messages" in channels else mapping(channels, "__start__")
    messages = [_fields(message) for _, message in mappings(spoken_in, "messages")]
    answered = strings(message.get("tool_call_id") for message in messages)
    calls = [call for message in messages for _, call in mappings(message, "tool_calls")]
    facts = Facts(
        source_id=text(checkpoint, "id") or text(_configurable(payload), "checkpoint_id"),
        agent_id=active,
        agent_role=active,
        target_role=target,
        task_status=_status(payload, waiting),
        user_intent=_last_human_text(messages),
        produced_at=instant(checkpoint.get("ts")) or instant(payload.get("created_at")),
        completed_step_ids=answered,
        call_ids=answered,
        tool_names=strings(
            call.get("name") for call in sorted(calls, key=lambda call: call.get("id") in answered)
        ),
        pending_decisions=waiting,
        waits_for_person=bool(waiting),
        already_committed=answered,
    )
    return with_envelope(facts, payload, envelope)


def _configurable(payload: JSONObject) -> JSONObject:
    return mapping(mapping(payload, "config"), "configurable")


def _fields(message: JSONObject) -> JSONObject:
    """The fields of a message, in constructor form or plain."""
    return mapping(message, "kwargs") or message


def _writes(payload: JSONObject) -> Iterator[tuple[int, str, str, JSONValue]]:
    """(index, task id, channel, value) of each pending write."""
    for index, write in enumerate(sequence(payload, "pending_writes")):
        if isinstance(write, list) and len(write) >= 3 and isinstance(write[1], str):
            yield index, str(write[0]), write[1], write[2]


def _upcoming(payload: JSONObject, channels: JSONObject) -> tuple[str, ...]:
    """The nodes that run next: named by the snapshot, else by the branch channels, else by pending writes."""
    names = strings(sequence(payload, "next"))
    names = names or strings(name.removeprefix(_BRANCH) for name in channels if name.startswith(_BRANCH))
    return names or strings(
        channel.removeprefix(_BRANCH) for _, _, channel, _ in _writes(payload) if channel.startswith(_BRANCH)
    )


def _last_node(checkpoint: JSONObject) -> str | None:
    """The node that ran last: the one that has seen the newest version of any channel."""
    newest = {
        node: max(strings(seen.values()), default="")
        for node, seen in mapping(checkpoint, "versions_seen").items()
        if isinstance(seen, dict) and not node.startswith("__")
    }
    return max(newest, key=lambda node: newest[node], default=None)


def _status(payload: JSONObject, waiting: tuple[PendingDecision, ...]) -> str:
    if waiting:
        return "awaiting_approval"
    return "completed" if payload.get("next") == [] else "in_progress"


def _interrupts(payload: JSONObject) -> Iterator[PendingDecision]:
    """Interrupts that nobody has answered, from pending writes, else from the snapshot's tasks."""
    writes = list(_writes(payload))
    finished = {
        task for _, task, channel, _ in writes if channel in _FINISHED or not channel.startswith("__")
    }
    found = False
    for index, task, channel, value in writes:
        if channel == "__interrupt__":
            found = True
            if task not in finished:
                yield from _questions(value, f"/pending_writes/{index}/2")
    if found:
        return
    for index, task_state in mappings(payload, "tasks"):
        if task_state.get("result") is None:
            yield from _questions(task_state.get("interrupts"), f"/tasks/{index}/interrupts")


def _questions(interrupts: JSONValue, pointer: str) -> Iterator[PendingDecision]:
    for index, interrupt in mappings({"interrupts": interrupts}, "interrupts"):
        where = f"{pointer}/{index}"
        printed = text(interrupt, "repr")
        if printed is not None:
            yield asked(*_printed(printed), where)
        else:
            fields = _fields(interrupt)
            yield asked(text(fields, "id") or text(fields, "interrupt_id") or "", fields.get("value"), where)


def _printed(printed: str) -> tuple[str, JSONValue]:
    """(id, value) of an interrupt as Python prints it; the whole text as value where it is not understood."""
    if not printed.startswith(_PRINTED):
        return "", printed
    cuts = [at for mark in _AFTER_VALUE if (at := printed.rfind(mark)) >= 0]
    value = printed[len(_PRINTED) : min(cuts, default=-1)]
    _, _, rest = printed.rpartition(_AFTER_VALUE[0])
    interrupt_id = rest.partition("'")[0] if _AFTER_VALUE[0] in printed else ""
    try:
        return interrupt_id, read_literal(value)
    except ValueError:
        return interrupt_id, value


def _last_human_text(messages: list[JSONObject]) -> str | None:
    for message in reversed(messages):
        if text(message, "type") in ("human", "user") or text(message, "role") == "user":
            return spoken(message.get("content"))
    return None


FORMAT: Final = Format(
    name="langgraph/4",
    title="LangGraph checkpoint",
    read=read,
    members=MEMBERS,
    approve_means=(
        "The orchestrator resumes the graph on exactly this checkpoint with "
        "Command(resume={interrupt id: answer})."
    ),
    protected=("/config", "/parent_config", "/checkpoint/id", "/checkpoint/ts", "/checkpoint_serde"),
)
