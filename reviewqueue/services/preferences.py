"""How somebody wants their pages: keys, and where to go after a decision.

Nothing of it is in the audit trail: it concerns nobody else and changes nothing that is decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from checkpoints.errors import InvalidInput, ProblemError
from reviewqueue.models import AfterDecision, Preference, User
from reviewqueue.shortcuts import ACTIONS, faults, normal, resolve


@dataclass(frozen=True, slots=True)
class Preferences:
    """`bindings`: every action with its strokes, "" where it has no key."""

    single_keys: bool
    bindings: Mapping[str, str]
    after_decision: AfterDecision


def preferences_of(*, person: User) -> Preferences:
    """What the person chose, else what is usual."""
    row = Preference.objects.filter(pk=person.pk).first() or Preference(person=person)
    return Preferences(row.single_keys, resolve(row.keys), AfterDecision(row.after_decision))


def save_keys(*, person: User, bindings: Mapping[str, str]) -> None:
    """The keys of the actions that are named; the others keep theirs.

    Raises InvalidInput (422) with a sentence per action whose key is reserved, malformed or taken.
    """
    unknown = [name for name in bindings if name not in ACTIONS]
    if unknown:
        raise InvalidInput(f"“{unknown[0][:40]}” is no action with a key.", slug="invalid-form")
    with transaction.atomic(durable=True):
        row = _locked(person)
        chosen = {**resolve(row.keys), **{name: normal(keys) for name, keys in bindings.items()}}
        if wrong := faults(chosen):
            errors = [ProblemError(name, "invalid", text) for name, text in wrong.items()]
            raise InvalidInput("Some keys cannot be used.", slug="keys-invalid", errors=errors)
        row.keys = {name: keys for name, keys in chosen.items() if keys != ACTIONS[name].keys}
        row.save(update_fields=["keys"])


def reset_keys(*, person: User) -> None:
    """Back to the usual keys."""
    _change(person, keys={})


def switch_keys(*, person: User, on: bool) -> None:
    """Single keys on or off (WCAG 2.1.4)."""
    _change(person, single_keys=on)


def choose_after_decision(*, person: User, choice: str) -> None:
    """Raises InvalidInput (422) for a choice that is none."""
    if choice not in AfterDecision.values:
        text = f"Choose one of: {', '.join(AfterDecision.values)}."
        raise InvalidInput(
            text, slug="invalid-form", errors=[ProblemError("after_decision", "unknown", text)]
        )
    _change(person, after_decision=choice)


def _change(person: User, **values: Any) -> None:
    with transaction.atomic(durable=True):
        row = _locked(person)
        for name, value in values.items():
            setattr(row, name, value)
        row.save(update_fields=list(values))


def _locked(person: User) -> Preference:
    Preference.objects.bulk_create([Preference(person=person)], ignore_conflicts=True)
    row: Preference = Preference.objects.select_for_update().get(pk=person.pk)
    return row
