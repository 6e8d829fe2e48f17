"""Two people and an orchestrator act on one handoff at the same moment: one decision, and the others are told so."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

from checkpoints.models import AuditEntry, Handoff, Ticket
from reviewqueue.models import User
from tests import characters
from tests.api.calling import Api
from tests.visiting import detail_url, hidden_fields, page_text, signed_in

pytestmark = pytest.mark.django_db

ENDS = {"approved": "approve", "aborted": "abort", "cancelled": None}


@pytest.mark.parametrize("rounds", [5, pytest.param(50, marks=pytest.mark.full)])
def test_one_of_three_wins_and_the_losers_hear_by_whom(rounds: int) -> None:
    api = Api()
    alice, bob = characters.person(name="alice"), characters.person(name="bob")
    clients = {person: signed_in(person) for person in (alice, bob)}
    won: Counter[str] = Counter()
    for _ in range(rounds):
        handoff = characters.flagged(api.owner)
        seen = {person: hidden_fields(client.get(detail_url(handoff))) for person, client in clients.items()}

        def decide(person: User, action: str, handoff: Handoff = handoff, seen: Any = seen) -> Any:
            fields = {**seen[person], "action": action, "reason": f"{person.username} says {action}"}
            return clients[person].post(f"{detail_url(handoff)}decide/", fields)

        approved, aborted, cancelled = characters.together(
            partial(decide, alice, "approve"),
            partial(decide, bob, "abort"),
            partial(api.verb, handoff.checkpoint_id, "cancel", {"reason": "not needed"}),
        )
        final = characters.reload(handoff)
        assert final.state in ENDS
        won[final.state] += 1
        decisions = [item.action for item in final.decisions.order_by("at")]
        # What was decided first may still be ended by the sender; nothing is decided twice.
        assert len(decisions) <= 1
        if final.state != "cancelled":
            assert decisions == [ENDS[final.state]]
        answers = {"approve": approved, "abort": aborted}
        for action, response in answers.items():
            if action in decisions:
                assert response.status_code == 303
            else:
                assert response.status_code == 409
                assert f"says {action}" in page_text(response), "what was typed stays"
        assert cancelled.status_code == (409 if final.state == "aborted" else 200)
        valid = Ticket.objects.filter(handoff=handoff, revoked_at__isnull=True).count()
        assert valid == (1 if final.state == "approved" else 0)
        indexes = AuditEntry.objects.filter(subject_id=str(handoff.pk)).values_list(
            "subject_index", flat=True
        )
        assert sorted(indexes) == list(range(len(indexes)))
    assert sum(won.values()) == rounds
