"""Names of any length: the checkpoint is stored and judged, whatever an index can hold."""

from __future__ import annotations

import random
import string

import pytest

from checkpoints.models import Handoff
from tests.characters import document, fresh, judged, orchestrator
from tests.samples import engine_document

# Random, so that no compression makes it fit; of the widest characters, too.
RANDOM = random.Random(4411)  # noqa: S311 - CONFIG: no secret
LONG = {
    "ascii": "".join(RANDOM.choices(string.ascii_letters, k=9000)),
    "wide, past the limit": "".join(chr(RANDOM.randint(0x10000, 0x1FFFF)) for _ in range(2000)),
    "wide, within the limit": "".join(chr(RANDOM.randint(0x10000, 0x1FFFF)) for _ in range(150)),
}


@pytest.mark.parametrize("kind", LONG)
def test_a_checkpoint_with_long_names_is_stored_and_judged(db: None, kind: str) -> None:
    name = LONG[kind]
    target = {"target_role": name, "handoff_reason": name, "expected_return": False}
    recovery = {"idempotency_key": name, "rollback_notes": name, "max_retries": 2**53 - 1}
    found = judged(
        orchestrator(),
        document(
            agent_role=f"{name}1",
            agent_id=name,
            task_id=name,
            handoff_target=target,
            recovery_instructions=recovery,
        ),
    )
    assert {"HC-02", "HC-84"} & set(found.finding_codes)
    assert found.outcome in ("flagged", "rejected")
    assert Handoff.objects.get(pk=found.pk).task_id is not None


@pytest.mark.parametrize("kind", LONG)
def test_an_engine_checkpoint_with_long_names_is_stored_and_judged(db: None, kind: str) -> None:
    name = LONG[kind]
    found = judged(
        orchestrator(),
        engine_document(
            sessionId=fresh("session"),
            id=name,
            runId=name,
            turnId=name,
            parentRunId=f"{name}1",
            delegationDepth=2**53 - 1,
            agent_role=name,
            task_id=name,
        ),
    )
    assert found.outcome == "rejected"
