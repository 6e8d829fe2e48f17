"""The keys of the pages: what each does, where it counts, and whether somebody's own choice of keys can work. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations


class Scope(StrEnum):
    """Where a key counts. What counts everywhere meets all others; the other scopes never meet."""

    EVERYWHERE = "everywhere"
    LIST = "list"
    ITEM = "item"
    EDIT = "edit"


SCOPES = {
    Scope.EVERYWHERE: "Everywhere",
    Scope.LIST: "In a list",
    Scope.ITEM: "On a handoff",
    Scope.EDIT: "While editing",
}


@dataclass(frozen=True, slots=True)
class Action:
    """`keys` is the usual binding: one stroke such as "j", or two in a row such as "g q"."""

    name: str
    label: str
    keys: str
    scopes: tuple[Scope, ...]


_LIST_AND_ITEM = (Scope.LIST, Scope.ITEM)
ACTIONS: dict[str, Action] = {
    action.name: action
    for action in (
        Action("help", "Show all keys", "?", (Scope.EVERYWHERE,)),
        Action("search", "To the search field of the page", "/", (Scope.EVERYWHERE,)),
        Action("go-queue", "Go to the queue", "g q", (Scope.EVERYWHERE,)),
        Action("go-handoffs", "Go to all handoffs", "g h", (Scope.EVERYWHERE,)),
        Action("go-audit", "Go to the audit trail", "g a", (Scope.EVERYWHERE,)),
        Action("go-dashboard", "Go to the dashboard", "g d", (Scope.EVERYWHERE,)),
        Action("go-policy", "Go to the policy", "g p", (Scope.EVERYWHERE,)),
        Action("go-settings", "Go to your settings", "g s", (Scope.EVERYWHERE,)),
        Action("next", "Next row or finding", "j", _LIST_AND_ITEM),
        Action("previous", "Previous row or finding", "k", _LIST_AND_ITEM),
        Action("claim", "Claim", "c", _LIST_AND_ITEM),
        Action("release", "Release the claim; without one, back", "u", _LIST_AND_ITEM),
        Action("choose", "Choose the row for an act on several", "x", (Scope.LIST,)),
        Action("density", "Compact or comfortable rows", ".", (Scope.LIST,)),
        Action("finding", "Next finding", "i", (Scope.ITEM,)),
        Action("reason", "To the reason", "r", (Scope.ITEM, Scope.EDIT)),
        Action("decide", "To the confirmation of an approval", "a", (Scope.ITEM,)),
        Action("edit", "Edit", "e", (Scope.ITEM,)),
        Action("leave", "Back to the handoff", "u", (Scope.EDIT,)),
    )
}

# Keys that browsers, fields, links and buttons need, as people may write them.
RESERVED = frozenset(
    {
        "enter", "return", "↵", "escape", "esc", "tab", "space", "spacebar", "backspace", "delete", "insert", "home",
        "end", "pageup", "pagedown", "up", "down", "left", "right", "↑", "↓", "←", "→", "arrowup", "arrowdown",
        "arrowleft", "arrowright", "ctrl", "control", "alt", "option", "shift", "meta", "cmd", "command", "⌘", "fn",
    }
)  # fmt: skip


def strokes(text: str) -> tuple[str, ...]:
    """The strokes of a binding as a person wrote it, in lower case."""
    return tuple(text.lower().split())


def normal(text: str) -> str:
    return " ".join(strokes(text))


def fault(text: str) -> str:
    """What is wrong with one binding by itself; "" where nothing is. An empty one switches the action's key off."""
    given = strokes(text)
    for stroke in given:
        parts = [stroke] if len(stroke) == 1 else [part for part in stroke.split("+") if part]
        if reserved := next((part for part in parts if part in RESERVED), None):
            return (
                f"“{reserved}” is reserved: browser, fields and buttons need it, and Ctrl K goes anywhere. "
                "Use a letter, a digit or a sign."
            )
        if len(stroke) != 1 or not stroke.isprintable():
            return "Write one character, or two with a space between them, such as “j” or “g q”."
    if len(given) > 2:
        return "Two strokes in a row are the most."
    return ""


def faults(bindings: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with a whole map, by action. Where two actions want one key, both are named."""
    found = {name: text for name, keys in bindings.items() if (text := fault(keys))}
    for one, other in _clashes({name: keys for name, keys in bindings.items() if name not in found}):
        for name, rival in ((one, other), (other, one)):
            found.setdefault(
                name, f"{_said(bindings[rival])} is the key of “{ACTIONS[rival].label}” already."
            )
    return found


def resolve(own: Mapping[str, str]) -> dict[str, str]:
    """Every action with its keys: a person's own, else the usual ones where those are still free, else ""."""
    chosen = {name: normal(keys) for name, keys in own.items() if name in ACTIONS and not fault(keys)}
    for name, action in ACTIONS.items():
        if name in chosen:
            continue
        taken = any(_clash((name, action.keys), other) for other in chosen.items())
        chosen[name] = "" if taken else action.keys
    return {name: chosen[name] for name in ACTIONS}


def _clashes(bindings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((one[0], other[0]) for one, other in combinations(bindings.items(), 2) if _clash(one, other))


def _clash(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two bindings meet in a scope, and one is the other or its beginning."""
    first, second = strokes(one[1]), strokes(other[1])
    if not first or not second:
        return False
    scopes = {*ACTIONS[one[0]].scopes}, {*ACTIONS[other[0]].scopes}
    meet = scopes[0] & scopes[1] or any(Scope.EVERYWHERE in scope for scope in scopes)
    shorter = min(len(first), len(second))
    return bool(meet) and first[:shorter] == second[:shorter]


def _said(keys: str) -> str:
    return f"“{normal(keys)}”"
