"""The person's keys in templates: as hints on buttons, as the map that `?` shows, and as data for the script."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join

from reviewqueue.services import access
from reviewqueue.services.access import Act
from reviewqueue.services.preferences import Preferences, preferences_of
from reviewqueue.shortcuts import ACTIONS, SCOPES, Action, Scope, strokes

register = template.Library()

# Where an action leads that goes somewhere, and who may go there.
GOES = {
    "go-queue": ("review:queue", Act.SEE_QUEUE),
    "go-handoffs": ("review:handoffs", Act.SEE_QUEUE),
    "go-audit": ("review:audit", Act.OWN_AUDIT),
    "go-dashboard": ("review:dashboard", Act.DASHBOARD),
    "go-policy": ("review:policy", Act.POLICY_READ),
    "go-settings": ("review:settings", None),
}
WORKS = frozenset(
    {
        "next",
        "previous",
        "claim",
        "release",
        "choose",
        "density",
        "finding",
        "reason",
        "decide",
        "edit",
        "leave",
    }
)  # for people who see handoffs
FIXED = {
    Scope.EVERYWHERE: [("Go to anything", ("Ctrl K",))],
    Scope.LIST: [("Open the chosen row", ("↵",))],
    Scope.ITEM: [("To the place of the chosen finding", ("↵",)), ("Confirm the approval", ("Ctrl ↵",))],
}


def usable(person: Any) -> Iterator[Action]:
    """The actions that this person's pages have."""
    sees = access.may(person, Act.SEE_QUEUE)
    for action in ACTIONS.values():
        _, may = GOES.get(action.name, ("", None))
        if (may is None or access.may(person, may)) and (sees or action.name not in WORKS):
            yield action


def _preferences(context: Context) -> Preferences:
    """Read once a request."""
    request = context["request"]
    found: Preferences | None = getattr(request, "preferences", None)
    if found is None:
        found = request.preferences = preferences_of(person=request.user)
    return found


@register.simple_tag(takes_context=True)
def key(context: Context, name: str, css: str = "") -> str:
    """The key of an action as a hint, "" where it has none or single keys are off."""
    chosen = _preferences(context)
    return written(strokes(chosen.bindings[name]), css) if chosen.single_keys else ""


def written(keys: tuple[str, ...], css: str = "") -> str:
    marks = ((css, stroke.upper() if len(stroke) == 1 else stroke) for stroke in keys)
    return format_html_join(" ", '<kbd class="{}" aria-hidden="true">{}</kbd>', marks)


@register.simple_tag(takes_context=True)
def key_data(context: Context) -> dict[str, Any]:
    """What the script needs: `on`, and per action its strokes, scopes and, where it goes somewhere, the address."""
    chosen = _preferences(context)
    bindings = {}
    for action in usable(context["request"].user):
        route, _ = GOES.get(action.name, ("", None))
        bindings[action.name] = {
            "strokes": strokes(chosen.bindings[action.name]),
            "scopes": [scope.value for scope in action.scopes],
            "href": reverse(route) if route else "",
        }
    return {"on": chosen.single_keys, "actions": bindings}


@register.simple_tag(takes_context=True)
def key_map(context: Context) -> list[dict[str, Any]]:
    """The map by scopes: title and lines of (label, keys as marks); an action without a key says so."""
    chosen = _preferences(context)
    actions = list(usable(context["request"].user))
    sees = access.may(context["request"].user, Act.SEE_QUEUE)
    sections = []
    for scope, title in SCOPES.items():
        lines = [
            (
                action.label,
                written(strokes(chosen.bindings[action.name])) or format_html("<i>{}</i>", "no key"),
            )
            for action in actions
            if scope in action.scopes
        ]
        if sees or scope is Scope.EVERYWHERE:
            lines += [(label, written(keys)) for label, keys in FIXED.get(scope, [])]
        if lines:
            sections.append({"title": title, "lines": lines})
    return sections


@register.simple_tag(takes_context=True)
def single_keys(context: Context) -> bool:
    return _preferences(context).single_keys
