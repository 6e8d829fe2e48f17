"""Two orchestrators that post their framework's own state: what LangGraph and the OpenAI Agents SDK write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from checkpoints.identifiers import uuid7
from tools.honest.stories import Post

type Message = dict[str, Any]


def _envelope(form: str, session: str, sequence: int, payload: dict[str, Any], **members: Any) -> bytes:
    value = {
        "format": form,
        "session_id": session,
        "handoff_sequence": sequence,
        "checkpoint_id": str(uuid7()),
        "idempotency_key": f"{session}:{sequence}",
        "payload": payload,
        **members,
    }
    return json.dumps(value).encode()


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _said(kind: str, content: str, **more: Any) -> Message:
    names = {"human": "HumanMessage", "ai": "AIMessage", "tool": "ToolMessage"}
    fields = {"content": content, "type": kind, "id": str(uuid7()), **more}
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", names[kind]],
        "kwargs": fields,
    }


def _transfer(target: str, call: str) -> list[Message]:
    name = f"transfer_to_{target}"
    asked = {"name": name, "args": {}, "id": call, "type": "tool_call"}
    return [
        _said("ai", f"{target.capitalize()} knows more.", tool_calls=[asked], invalid_tool_calls=[]),
        _said("tool", f"Transferred to {target}", name=name, tool_call_id=call, status="success"),
    ]


def _snapshot(
    thread: str, step: int, messages: list[Message], ran: str, following: str | None, **more: Any
) -> dict[str, Any]:
    """A state snapshot after superstep `step`, as `graph.get_state()` gives it."""
    version, checkpoint_id = f"{step + 2:032}.0.5", str(uuid7())
    place = {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": checkpoint_id}
    return {
        "config": {"configurable": place},
        "metadata": {"source": "loop", "step": step, "parents": {}},
        "checkpoint": {
            "v": 4,
            "ts": _now(),
            "id": checkpoint_id,
            "channel_versions": {"messages": version, f"branch:to:{following or 'end'}": version},
            "versions_seen": {"__input__": {}, ran: {"messages": f"{step + 1:032}.0.5"}},
            "updated_channels": ["messages"],
            "channel_values": {"messages": list(messages), "active_agent": following or ran},
        },
        "next": [following] if following else [],
        **more,
    }


def graph(number: int, salt: str) -> Iterator[Post]:
    """A graph of four agents on one thread; the third asks a person before it goes on."""
    thread = f"thread-{salt}-{number}"
    messages = [_said("human", f"The heating of flat {number} is cold, please send somebody")]
    route = ("desk", "heating", "scheduling", "desk")
    for step, (sender, target) in enumerate(pairwise(route)):
        messages += _transfer(target, f"call_{salt}_{number}_{step}")
        waiting: dict[str, Any] = {}
        if target == "scheduling":
            question = {"question": "Send a plumber today at night rates?", "options": ["yes", "tomorrow"]}
            interrupt = {"value": question, "id": f"{salt}{number:04}"}
            waiting["tasks"] = [
                {
                    "id": str(uuid7()),
                    "name": target,
                    "path": ["__pregel_pull", target],
                    "interrupts": [interrupt],
                }
            ]
        state = _snapshot(thread, step, messages, sender, target, **waiting)
        yield Post(
            _envelope("langgraph/4", thread, step + 1, state), "answered" if waiting else "acknowledged"
        )
    messages.append(_said("ai", "A plumber comes today."))
    final = _snapshot(thread, 9, messages, "desk", None)
    yield Post(_envelope("langgraph/4", thread, 4, final, agent_role="desk", target_role="archive"))


def _call(name: str, call: str, arguments: str = "{}") -> Message:
    return {
        "type": "function_call",
        "id": f"fc_{call}",
        "call_id": call,
        "name": name,
        "arguments": arguments,
    }


def _output(call: str, output: str) -> Message:
    return {"type": "function_call_output", "call_id": call, "output": output}


def run_state(number: int, salt: str) -> Iterator[Post]:
    """A run whose agents hand over inside it; each handoff is posted with the state of the run."""
    conversation, items = f"run-{salt}-{number}", list[dict[str, Any]]()
    route = ("greeter", "catalogue", "orders", "greeter", "survey")
    for step, (sender, target) in enumerate(pairwise(route)):
        look, move = f"call_{salt}_{number}_{step}a", f"call_{salt}_{number}_{step}b"
        agent, other = {"name": sender}, {"name": target}
        items += [
            {"type": "tool_call_item", "raw_item": _call("search", look), "agent": agent},
            {
                "type": "tool_call_output_item",
                "raw_item": _output(look, f"Entry {step}"),
                "agent": agent,
                "output": f"Entry {step}",
            },
            {"type": "handoff_call_item", "raw_item": _call(f"transfer_to_{target}", move), "agent": agent},
            {
                "type": "handoff_output_item",
                "raw_item": _output(move, json.dumps({"assistant": target})),
                "agent": agent,
                "source_agent": agent,
                "target_agent": other,
            },
        ]
        state = {
            "$schemaVersion": "1.21",
            "current_turn": step + 1,
            "current_agent": other,
            "original_input": f"Which lamp fits the hall of house {number}?",
            "model_responses": [],
            "context": {"usage": {}, "approvals": {}, "context": None},
            "max_turns": 10,
            "generated_items": list(items),
            "current_step": None,
        }
        yield Post(_envelope("openai-agents/1", conversation, step + 1, state))


FRAMEWORKS = {"graph": graph, "run_state": run_state}
