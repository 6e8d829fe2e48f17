"""What the approvals behind an attempt or a recovery point say: answers to questions, outcomes of effects."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from checkpoints.models import Action, Decision, Handoff, Ticket
from checkpoints.types import JSONObject


@dataclass(frozen=True, slots=True)
class RoundAnswers:
    """As decisions keep them, the last word of each kind and id, in the order in which they were given."""

    answers: tuple[JSONObject, ...]
    reconciliations: tuple[JSONObject, ...]


def answers_of_round(*, handoff: Handoff, number: int) -> RoundAnswers:
    """Only what the approvals of one round say: a withdrawn or superseded answer is no answer."""
    answers: dict[str, JSONObject] = {}
    reconciliations: dict[str, JSONObject] = {}
    for decision in Decision.objects.filter(handoff=handoff, action=Action.APPROVE, round=number).order_by(
        "at"
    ):
        answers |= {item["decision_id"]: item for item in decision.answers}
        reconciliations |= {item["request_id"]: item for item in decision.reconciliations}
    return RoundAnswers(tuple(answers.values()), tuple(reconciliations.values()))


def reconciliations(*, handoff: Handoff, revision: int) -> tuple[JSONObject, ...]:
    """Of the round whose ticket last let this revision through; none where its checks did."""
    let_through = Ticket.objects.filter(handoff=handoff, revision=revision).filter(
        Q(revoked_at__isnull=True) | Q(redeemed_at__isnull=False)
    )
    ticket = let_through.order_by("-decided_at").first()
    if ticket is None:
        return ()
    last = Decision.objects.filter(handoff=handoff, action=Action.APPROVE, at=ticket.decided_at)[0]
    return answers_of_round(handoff=handoff, number=last.round).reconciliations
