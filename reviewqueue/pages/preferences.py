"""`/settings/`, `/settings/keys/` and `/help/keys/`: how somebody wants their pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse

from checkpoints.errors import InvalidInput, ReviewQueueError
from reviewqueue.models import AfterDecision
from reviewqueue.pages import forms
from reviewqueue.pages.acts import see_other
from reviewqueue.pages.home import safe_next
from reviewqueue.pages.shell import PersonRequest, page, render_page
from reviewqueue.services import preferences
from reviewqueue.shortcuts import SCOPES
from reviewqueue.templatetags.shortcuts import usable

KEY = "key:"


@page(methods=("GET", "POST"))
def settings(request: PersonRequest) -> HttpResponse:
    problem = None
    if request.method == "POST":
        try:
            values = forms.read(request.POST, forms.ALWAYS | {"after_decision"})
            choice = values.get("after_decision", "")
            preferences.choose_after_decision(person=request.user, choice=choice)
            messages.success(request, "Saved.")
            return see_other(reverse("review:settings"))
        except ReviewQueueError as error:
            problem = error
    context = {
        "choices": AfterDecision.choices,
        "chosen": preferences.preferences_of(person=request.user).after_decision.value,
        "problem": problem,
    }
    return render_page(
        request, "settings.html", context, here="settings", status=problem.status if problem else 200
    )


@page(methods=("GET", "POST"))
def keys(request: PersonRequest) -> HttpResponse:
    if request.method != "POST":
        return _keys(request)
    try:
        values = forms.read(request.POST, forms.ALWAYS | {"act"}, prefixes=(KEY,))
        messages.success(request, _change(request, values))
    except ReviewQueueError as error:
        return _keys(request, error)
    return see_other(safe_next(request, reverse("review:keys")))


def _change(request: PersonRequest, values: Mapping[str, str]) -> str:
    """Carry out what was pressed; gives the sentence that says so."""
    match values.get("act"):
        case "save":
            given = {name.removeprefix(KEY): text for name, text in values.items() if name.startswith(KEY)}
            preferences.save_keys(person=request.user, bindings=given)
            return "Your keys are saved."
        case "reset":
            preferences.reset_keys(person=request.user)
            return "The usual keys are back."
        case "on" | "off" as wanted:
            preferences.switch_keys(person=request.user, on=wanted == "on")
            return f"Single keys are {wanted}."
        case _:
            raise InvalidInput("“act” is save, reset, on or off.", slug="invalid-form")


def _keys(request: PersonRequest, error: ReviewQueueError | None = None) -> HttpResponse:
    """The page; after a refusal with everything that was typed and what is wrong beside it."""
    chosen = preferences.preferences_of(person=request.user)
    typed = {name.removeprefix(KEY): str(text) for name, text in request.POST.items()} if error else {}
    wrong = {item.pointer: item.detail for item in error.errors} if error else {}
    lines = [
        _line(action, typed.get(action.name, chosen.bindings[action.name]), wrong)
        for action in usable(request.user)
    ]
    sections = [
        {"title": title, "lines": [line for line in lines if line["scope"] == scope]}
        for scope, title in SCOPES.items()
    ]
    context = {
        "sections": [section for section in sections if section["lines"]],
        "problem": error,
        "wrong": [line for line in lines if line["wrong"]],
        "on": chosen.single_keys,
    }
    return render_page(
        request, "settings_keys.html", context, here="settings", status=error.status if error else 200
    )


def _line(action: Any, keys: str, wrong: Mapping[str, str]) -> dict[str, Any]:
    others = [SCOPES[scope].lower() for scope in action.scopes[1:]]
    return {
        "name": action.name,
        "label": action.label,
        "scope": action.scopes[0],
        "also": f"also {' and '.join(others)}" if others else "",
        "usual": action.keys,
        "keys": keys,
        "wrong": wrong.get(action.name, ""),
    }


@page()
def help_keys(request: PersonRequest) -> HttpResponse:
    return render_page(request, "help_keys.html", {}, here="settings")
