"""Names in a valid policy that nothing else in it knows: mostly misspelt, so that a rule would never apply.

They are no mistakes: a policy may name a receiver that it lists later, and the contract's own example does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from checkpoints.canonical.pointers import escape
from checkpoints.errors import ProblemError
from checkpoints.policies.document import conditions
from checkpoints.types import JSONObject

_ROLE_CONDITIONS = ("agent_role", "target_role")


def doubts(document: JSONObject) -> list[ProblemError]:
    """What a person should look at in a document without mistakes, ordered by pointer. Without roles, fewer."""
    roles: dict[str, Any] = dict(document.get("roles") or {})  # type: ignore[arg-type]
    found = [*_fallbacks_to_itself(roles), *_equal_pairs(document)]
    if roles:
        found += [
            ProblemError(
                pointer,
                "unknown-role",
                f"{name} is not in roles: {meaning} Add it to roles, or correct its name.",
            )
            for pointer, name, meaning in _named_roles(roles, document)
            if name not in roles
        ]
    return sorted(found, key=lambda item: (item.pointer, item.code))


def _named_roles(roles: dict[str, Any], document: JSONObject) -> Iterator[tuple[str, str, str]]:
    """(pointer, role, what follows where it is unknown) of each place that names a role."""
    for role, rule in roles.items():
        base = f"/roles/{escape(role)}"
        for index, target in enumerate(rule.get("may_hand_off_to", ())):
            yield f"{base}/may_hand_off_to/{index}", target, "a handoff to it is still HC-62."
        if rule.get("fallback_role"):
            yield f"{base}/fallback_role", rule["fallback_role"], "the fallback would stop at HC-62."
    required: Any = document.get("required_constraints") or {}
    for side, by_role in required.items():
        for role in by_role:
            yield (
                f"/required_constraints/{side}/{escape(role)}",
                role,
                "its constraints are asked of nobody who may hand off.",
            )
    for pointer, member, value in conditions(document):
        if member in _ROLE_CONDITIONS:
            yield pointer, value, "the rule meets only handoffs that stop anyway."


def _fallbacks_to_itself(roles: dict[str, Any]) -> Iterator[ProblemError]:
    for role, rule in roles.items():
        if rule.get("fallback_role") == role:
            yield ProblemError(
                f"/roles/{escape(role)}/fallback_role",
                "same-role",
                f"{role} falls back to itself, which is no other receiver. Name another role or leave it out.",
            )


def _equal_pairs(document: JSONObject) -> Iterator[ProblemError]:
    pairs: Any = document.get("conflicting_constraints") or []
    for index, (first, second) in enumerate(pairs):
        if first == second:
            yield ProblemError(
                f"/conflicting_constraints/{index}",
                "same-constraint",
                f"{first} stands on both sides: a constraint never contradicts itself. Correct one of them.",
            )
