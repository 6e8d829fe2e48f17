"""Names of any length become names that an index can hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkpoints.formats import admit, with_short_names
from checkpoints.formats.names import MAX_BYTES, NAMES, short
from checkpoints.types import Facts
from tests.samples import engine_document, handoff_document


def facts(document: dict[str, Any]) -> Facts:
    return with_short_names(admit(json.dumps(document).encode()).facts)


@pytest.mark.parametrize("name", ["a", "x" * 200, "x" * MAX_BYTES, "é" * 300])
def test_names_of_ordinary_length_stay_as_they_are(name: str) -> None:
    assert facts(handoff_document(agent_role=name, task_id=name)).agent_role == name


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
def test_longer_names_are_cut_and_stay_different(letter: str) -> None:
    long, longer = letter * 9_000, letter * 9_001
    found = facts(handoff_document(agent_role=long, task_id=longer, agent_id=long))
    names = (found.agent_role, found.task_id, found.agent_id)
    assert all(name is not None and len(name.encode()) <= MAX_BYTES for name in names)
    assert found.agent_role == found.agent_id != found.task_id
    assert found.agent_role is not None
    assert found.agent_role.startswith(letter * 50)


def test_every_name_of_the_facts_is_cut() -> None:
    long = "n" * 5000
    target = {"target_role": long}
    recovery = {"idempotency_key": long}
    flat = facts(
        handoff_document(
            agent_id=long,
            agent_role=long,
            task_id=long,
            handoff_target=target,
            recovery_instructions=recovery,
            approval_ticket_reference=long,
        )
    )
    engine = facts(engine_document(id=long, runId=long, turnId=long, parentRunId=long))
    for member in NAMES:
        assert short(long) in (getattr(flat, member), getattr(engine, member)), member


def test_checks_still_read_the_whole_name() -> None:
    long = "n" * 5000
    assert admit(json.dumps(handoff_document(task_id=long)).encode()).facts.task_id == long


def test_cutting_never_splits_a_character() -> None:
    for offset in range(4):
        short("a" * offset + "\U0001f600" * 1000).encode()
