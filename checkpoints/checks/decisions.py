"""Whether a person, or the next agent, could answer the pending decisions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from checkpoints.checks.shape import Decision, is_blank, place, shown, view
from checkpoints.types import CheckContext, Hit, Submission

FORMATS = ("handoff/1",)

_WORD: Final = re.compile(r"\w+")
_TELLING: Final = 4  # letters: shorter words ("in", "the", "not") tell no options apart


def decision_ids_twice(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-35."""
    first: dict[str, str] = {}
    for decision in view(submission).decisions or ():
        if decision.decision_id is None:
            continue
        if decision.decision_id in first:
            yield Hit(
                "HC-35",
                f"{decision.pointer}/decision_id",
                f"Decision {decision.decision_id} stands in {place(first[decision.decision_id])} and in "
                f"{place(decision.pointer)}: an answer would bind to two questions.",
                "each decision_id once",
                decision.decision_id,
            )
        else:
            first[decision.decision_id] = decision.pointer


def unusable_options(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-36 and HC-37."""
    for decision in view(submission).decisions or ():
        given = decision.members.get("options")
        if given is not None and not isinstance(given, list):
            continue
        options = [shown(option) for option in given or ()]
        name = decision.decision_id or place(decision.pointer)
        if len({option.strip().casefold() for option in options if option.strip()}) < 2:
            yield Hit(
                "HC-37",
                f"{decision.pointer}/options",
                f"Decision {name} offers {', '.join(options) or 'no options'}: that is no choice. Offer at "
                "least two different options.",
                "two different options",
                [*options],
            )
        elif not _names_an_option(decision, options):
            recommendation = shown(decision.members.get("recommendation"), 100)
            yield Hit(
                "HC-36",
                f"{decision.pointer}/recommendation",
                f"Decision {name} recommends {recommendation!r}, which is none of its options "
                f"({', '.join(options)}).",
                [*options],
                recommendation,
            )


def _names_an_option(decision: Decision, options: list[str]) -> bool:
    given = decision.members.get("recommendation")
    if not isinstance(given, str) or is_blank(given):
        return True
    recommendation = given.casefold()
    folded = [option.strip().casefold() for option in options if option.strip()]
    if any(option in recommendation or recommendation.strip() in option for option in folded):
        return True
    words = [set(_WORD.findall(option)) for option in folded]
    shared = set.intersection(*words)
    telling = {word for option in words for word in option - shared if len(word) >= _TELLING}
    return not telling.isdisjoint(_WORD.findall(recommendation))


def unanswerable(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-38."""
    for decision in view(submission).decisions or ():
        for member in ("decision_id", "question"):
            value = decision.members.get(member)
            if is_blank(value):
                name = decision.decision_id or place(decision.pointer)
                yield Hit(
                    "HC-38",
                    f"{decision.pointer}/{member}",
                    f"Decision {name} has no {member}: "
                    + (
                        "no answer can name it."
                        if member == "decision_id"
                        else "nobody knows what to decide."
                    ),
                    "a text",
                    value,
                )


def answered_and_changed(submission: Submission, context: CheckContext) -> Iterator[Hit]:
    """HC-83."""
    for decision in submission.facts.pending_decisions:
        answer = context.answers.get(decision.decision_id)
        if answer is None:
            continue
        changed = [
            member
            for member, before, now in (
                ("question", answer.question, decision.question),
                ("options", answer.options, decision.options),
            )
            if before != now
        ]
        if changed:
            member = changed[0]
            before, now = (
                (answer.question, decision.question)
                if member == "question"
                else (" / ".join(answer.options), " / ".join(decision.options))
            )
            yield Hit(
                "HC-83",
                f"{decision.pointer}/{member}",
                f"Decision {decision.decision_id} was answered {shown(answer.answer, 80)!r} for checkpoint "
                f"{answer.checkpoint_id}, when its {member} read {shown(before, 100)!r}; now it reads "
                f"{shown(now, 100)!r}. Ask under a new decision_id.",
                shown(before),
                shown(now),
            )


CHECKS = (decision_ids_twice, unusable_options, unanswerable, answered_and_changed)
