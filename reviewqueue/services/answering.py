"""Answers to pending decisions and to effects of unknown outcome, checked against the document on the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from checkpoints.errors import InvalidInput, ProblemError
from checkpoints.formats import reread
from checkpoints.models import Decision, Handoff
from checkpoints.services.bodies import current_body
from checkpoints.types import JSONObject

OUTCOMES = ("happened", "did_not_happen", "unknown")


def answers(
    *, handoff: Handoff, given: Mapping[str, str], earlier: Sequence[Decision] = ()
) -> list[JSONObject]:
    """One entry per answered decision, with question and options as they were shown.

    Raises InvalidInput where a blocking decision is unanswered, an answer names no decision of the document, or
    contradicts what an earlier approver of this round answered.
    """
    agreed = {item["decision_id"]: item["answer"] for decision in earlier for item in decision.answers}
    pending = {
        item.decision_id: item for item in reread(current_body(handoff=handoff)).facts.pending_decisions
    }
    errors = [
        ProblemError(f"answer:{key}", "unknown-decision", f"The document asks no decision {key[:64]!r}.")
        for key in given
        if key not in pending
    ]
    given = {key: text.strip() for key, text in given.items() if text.strip()}
    errors += [
        ProblemError(f"answer:{key}", "required", f"Decision {key} blocks the handoff: answer it.")
        for key, item in pending.items()
        if item.blocking and key not in given
    ]
    errors += [
        ProblemError(
            f"answer:{key}",
            "contradiction",
            f"The first approver answered {agreed[key]!r} to {key}. Agree first.",
        )
        for key, text in given.items()
        if key in agreed and agreed[key] != text
    ]
    if errors:
        raise InvalidInput(" ".join(item.detail for item in errors), slug="answers-invalid", errors=errors)
    return [
        {
            "decision_id": key,
            "question": pending[key].question,
            "options": list(pending[key].options),
            "answer": text,
        }
        for key, text in given.items()
    ]


def reconciliations(
    *, handoff: Handoff, given: Mapping[str, str], earlier: Sequence[Decision] = ()
) -> list[JSONObject]:
    """One entry per effect whose outcome a person looked up. While one is unknown nothing may be approved."""
    agreed = {
        item["request_id"]: item["outcome"] for decision in earlier for item in decision.reconciliations
    }
    wanted = reread(current_body(handoff=handoff)).facts.needs_reconciliation
    errors = [
        ProblemError(
            f"reconcile:{key}", "unknown-request", f"The document has no unknown effect {key[:64]!r}."
        )
        for key in given
        if key not in wanted
    ]
    errors += [
        ProblemError(f"reconcile:{key}", "unknown-outcome", f"Choose one of {', '.join(OUTCOMES)}.")
        for key, outcome in given.items()
        if outcome not in OUTCOMES
    ]
    errors += [
        ProblemError(
            f"reconcile:{key}", "required", f"Find out whether {key} happened before this may go out."
        )
        for key in wanted
        if given.get(key, "unknown") == "unknown"
    ]
    errors += [
        ProblemError(
            f"reconcile:{key}",
            "contradiction",
            f"The first approver found {agreed[key]!r} for {key}. Agree first.",
        )
        for key, outcome in given.items()
        if key in agreed and agreed[key] != outcome
    ]
    if errors:
        raise InvalidInput(
            " ".join(item.detail for item in errors), slug="reconciliation-required", errors=errors
        )
    return [{"request_id": key, "outcome": outcome} for key, outcome in given.items()]
