"""A crowd of handoffs that wait for a person: what a large installation's queue looks like on its worst day.

They are posted and judged as all others are, so every list, count and trail is real.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import batched
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from checkpoints.canonical import context_fingerprint
from checkpoints.checks import tokens
from checkpoints.formats import admit as read
from checkpoints.formats import covered_object, hash_of
from checkpoints.models import AWAITING_PERSON, Handoff, Orchestrator
from checkpoints.services import admission
from checkpoints.services.received_rows import Arrival
from checkpoints.services.verification import drain
from checkpoints.types import Actor

ORCHESTRATOR = "crowd"
BATCH = 256

ROLES = {
    "triage": "billing",
    "billing": "payments",
    "claims": "payouts",
    "support": "mailing",
    "orders": "stock",
}
ACTS = ("Refund", "Replace", "Cancel", "Reship", "Credit", "Dispute", "Insure", "Reprice", "Recall", "Return")
THINGS = (
    "the cracked phone", "a winter coat", "two garden chairs", "the annual licence", "a hotel night in Graz",
    "the spare battery", "an office printer", "the missing parcel", "a bicycle lamp", "the double booking",
    "a case of coffee", "the broken kettle", "a rail ticket to Linz", "the wrong lens", "a school atlas",
)  # fmt: skip
WHYS = (
    "the customer sent photographs", "the carrier lost it", "the price was wrong", "it arrived late",
    "the warranty still runs", "the card was charged twice", "the address had changed", "nobody signed for it",
)  # fmt: skip


def waiting(owner: Orchestrator) -> int:
    """How many handoffs of the crowd wait for a person."""
    return Handoff.objects.of(owner).filter(state__in=AWAITING_PERSON).count()


def gather(owner: Orchestrator, count: int) -> Iterator[int]:
    """Post and judge `count` handoffs that stop; yields how many stand so far, BATCH by BATCH."""
    sender = Actor(kind="orchestrator", id=owner.name, label=owner.name)
    chance = random.Random(Handoff.objects.of(owner).count())  # noqa: S311 - no secret
    start, done = Handoff.objects.of(owner).count(), 0
    for numbers in batched(range(start, start + count), BATCH):
        bodies = [json.dumps(document(number, chance)).encode() for number in numbers]
        admission.admit_together([Arrival(owner, body, read(body), sender) for body in bodies])
        while drain(count_tokens=tokens.load(), seconds=60):
            pass
        done += len(bodies)
        yield done


def document(number: int, chance: random.Random) -> dict[str, Any]:
    """One document, by its number: most ask for approval, some contradict themselves, some are high-risk."""
    role = chance.choice([*ROLES])
    act, thing, why = chance.choice(ACTS), chance.choice(THINGS), chance.choice(WHYS)
    intent = f"{act} {thing} for order {40_000 + number}: {why}"
    found: dict[str, Any] = {
        "checkpoint_id": str(uuid5(NAMESPACE_OID, f"crowd-{number}")),
        "session_id": f"crowd-session-{number // 3:07d}",
        "handoff_sequence": number % 3 + 1,
        "agent_id": f"{role}/{chance.randrange(1, 9)}",
        "agent_role": role,
        "timestamp": _ago(0),
        "task_id": f"ORDER-{40_000 + number}",
        "task_status": "in_progress",
        "completed_steps": [_step(place, act, thing) for place in range(1, 1 + chance.randrange(1, 4))],
        "in_progress_step": {
            "step_id": "prepare",
            "description": f"Prepare to {act.lower()} {thing}",
            "partial_output": None,
            "started_at": _ago(1),
        },
        "pending_decisions": [],
        "active_constraints": ["pii_masking"],
        "tool_outputs": [],
        "context_snapshot": {
            "key_facts": [f"Order {40_000 + number}: {why}"],
            "user_intent": intent,
            "session_highlights": [],
        },
        "handoff_target": {
            "target_role": ROLES[role],
            "handoff_reason": f"{ROLES[role].capitalize()} has to {act.lower()} {thing}",
            "expected_return": False,
        },
        "recovery_instructions": {
            "idempotency_key": f"crowd-{number}",
            "rollback_notes": "Nothing was done that has to be undone",
            "max_retries": 2,
        },
        "human_approval_required": True,
        "risk_level": chance.choices(("low", "medium", "high"), (3, 6, 1))[0],
    }
    if chance.random() < 0.2:  # says that it is finished while a step is under way
        found["task_status"] = "completed"
    found["context_fingerprint"] = context_fingerprint(found["context_snapshot"])
    covered = covered_object(found, {})
    found["consistency_hash"] = hash_of(covered) if covered is not None else None
    return found


def _step(place: int, act: str, thing: str) -> dict[str, Any]:
    return {
        "step_id": f"look-{place}",
        "description": f"Look {place} at {thing} before: {act.lower()}",
        "output_reference": f"artifact://crowd/look-{place}.json",
        "completed_at": _ago(10 - place),
    }


def _ago(minutes: int) -> str:
    return (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
