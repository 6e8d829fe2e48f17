"""Roles, constraints and capabilities against the policy's registry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checkpoints.checks.shape import ENGINE, HANDOFF, filled, place, same_word, shown, view
from checkpoints.types import CheckContext, Hit, JSONValue, Submission

FORMATS = ("*",)


def agent_role_in_registry(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-61."""
    roles, role = context.policy.roles, submission.facts.agent_role
    if roles and filled(role) and role not in roles:
        yield Hit(
            "HC-61",
            view(submission).pointer("agent_role", "/agent_role"),
            f"agent_role {shown(role, 80)} is no role of the policy. Known roles: {_names(roles)}.",
            [*sorted(roles)],
            role,
        )


def target_role_in_registry(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-62, also for a target that the sending role may not hand off to."""
    roles, source, target = context.policy.roles, submission.facts.agent_role, submission.facts.target_role
    if not roles or target is None or filled(target) is None:
        return
    pointer = view(submission).pointer("target_role", "/target_role")
    if target not in roles:
        yield Hit(
            "HC-62",
            pointer,
            f"target_role {shown(target, 80)} is no role of the policy: the handoff would reach nobody. Known "
            f"roles: {_names(roles)}.",
            [*sorted(roles)],
            target,
        )
        return
    rule = roles.get(source or "")
    allowed = rule.may_hand_off_to if rule else None
    if allowed is not None and target not in allowed and target != source:
        yield Hit(
            "HC-62",
            pointer,
            f"{source} may not hand off to {target}. The policy lets it hand off to {_names(allowed)}.",
            [*allowed],
            target,
        )


def _names(roles: Iterable[str]) -> str:
    return shown(", ".join(sorted(roles)) or "nobody", 300)


def hands_off_to_itself(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-63."""
    source, target = filled(submission.facts.agent_role), filled(submission.facts.target_role)
    if source and target and same_word(source, target):
        yield Hit(
            "HC-63",
            view(submission).pointer("target_role", "/target_role"),
            f"{source} hands off to its own role {target}: that is a loop, not a handoff.",
            "another role",
            target,
        )


def reason_is_empty(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-64."""
    document = view(submission)
    found = document.get("handoff_reason")
    if submission.format != HANDOFF or (found is not None and not isinstance(found.value, str | None)):
        return
    if found is None and isinstance(submission.payload.get("handoff_target"), str | int | list):
        return
    if document.text("handoff_reason") is None:
        yield Hit(
            "HC-64",
            found.pointer if found else "/handoff_target/handoff_reason",
            "handoff_reason is empty: whoever reviews or receives this cannot judge why it is handed over.",
            "a sentence",
            found.value if found else None,
        )


def required_constraints(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-54."""
    present = view(submission).constraints
    if present is None:
        return
    source, target = submission.facts.agent_role, submission.facts.target_role
    policy = context.policy
    demands = [(constraint, f"from {source}") for constraint in policy.required_from.get(source or "", ())]
    demands += [(constraint, f"to {target}") for constraint in policy.required_to.get(target or "", ())]
    told, written = set[str](), shown(", ".join(present))
    for constraint, whom in demands:
        if constraint.strip() in present or constraint in told:
            continue
        told.add(constraint)
        yield Hit(
            "HC-54",
            "/active_constraints",
            f"The policy demands the constraint {constraint} of every handoff {whom}; active_constraints "
            f"is {written or 'empty'}.",
            constraint,
            written,
        )


def conflicting_constraints(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-55."""
    given = submission.payload.get("active_constraints")
    if submission.format != HANDOFF or not isinstance(given, list):
        return
    first: dict[str, str] = {}
    for index, item in enumerate(given):
        pointer = f"/active_constraints/{index}"
        if not isinstance(item, str):
            continue
        constraint = item.strip()
        if not constraint:
            yield Hit("HC-55", pointer, f"{place(pointer)} is blank. Remove it.", "a constraint", item)
        elif constraint in first:
            yield Hit(
                "HC-55",
                pointer,
                f"The constraint {shown(constraint, 80)} stands in {place(first[constraint])} and in "
                f"{place(pointer)}.",
                "each constraint once",
                shown(constraint),
            )
        else:
            first[constraint] = pointer
    for one, other in context.policy.conflicting_constraints:
        if one in first and other in first and one != other:
            yield Hit(
                "HC-55",
                max(first[one], first[other]),
                f"The constraints {one} and {other} cannot hold together. The receiver cannot satisfy both.",
                f"{one} or {other}",
                f"{one}, {other}",
            )


def task_id_pattern(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-75."""
    matches, task = context.policy.task_id_matches, submission.facts.task_id
    if matches is None or filled(task) is None or task is None or matches(task):
        return
    yield Hit(
        "HC-75",
        view(submission).pointer("task_id", "/task_id"),
        f"task_id {shown(task, 80)} does not match the policy's task_id_pattern: it may be no task of the "
        "queue.",
        "an id that matches task_id_pattern",
        shown(task),
    )


def target_is_capable(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-81."""
    role = submission.facts.target_role
    rule = context.policy.roles.get(role or "")
    if rule is None or not rule.capabilities:
        return
    wanted = _wanted(submission)
    if not wanted or any(value in rule.capabilities for _, value in wanted):
        return
    pointer, value = wanted[0]
    yield Hit(
        "HC-81",
        pointer,
        f"{role} can {shown(', '.join(rule.capabilities), 200)}, but the next thing to do is "
        f"{shown(value, 80)}.",
        list(rule.capabilities),
        shown(value),
    )


def _wanted(submission: Submission) -> list[tuple[str, str]]:
    """What the receiver will have to do first: (pointer, capability or tool name)."""
    wanted = []
    current = view(submission).current_step if submission.format == HANDOFF else None
    capability = filled(current.members.get("capability")) if current else None
    if current is not None and capability is not None:
        wanted.append((f"{current.pointer}/capability", capability))
    pending: JSONValue = (
        submission.payload.get("pendingToolRequests") if submission.format == ENGINE else None
    )
    if isinstance(pending, list) and pending and isinstance(pending[0], dict):
        name = filled(pending[0].get("name"))
        if name is not None:
            wanted.append(("/pendingToolRequests/0/name", name))
    return wanted


CHECKS = (
    agent_role_in_registry,
    target_role_in_registry,
    hands_off_to_itself,
    reason_is_empty,
    required_constraints,
    conflicting_constraints,
    task_id_pattern,
    target_is_capable,
)
