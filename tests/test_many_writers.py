"""Many writers and several drains at once: nothing is lost, nothing blocks, and verdicts are those of one thread."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection

from checkpoints.formats import admit as read
from checkpoints.models import AuditEntry, CheckRun, Handoff, Orchestrator
from checkpoints.services import admission
from checkpoints.services.verification import drain
from checkpoints.types import Actor
from tests import characters

type Verdicts = dict[tuple[str, int], tuple[str, tuple[tuple[str, str], ...]]]
SMALL = (30, 8, 4, 2)  # sessions, posts of each, writers, drains
LARGE = (500, 40, 8, 4)


def session_of(number: int, posts: int, chance: random.Random) -> list[bytes]:
    """The documents of one session. Some contradict the one before: what a check says depends on history."""
    name, first = f"many-{number}", characters.document(session_id=f"many-{number}", task_id=f"T-{number}")
    roles = ("triage", "billing", "legal")
    steps, constraints = list(first["completed_steps"]), ["pii_masking", "limit_500"]
    bodies = []
    for sequence in range(1, posts + 1):
        fault = chance.random()
        steps = [*steps, {**steps[0], "step_id": f"step-{sequence}"}]
        if fault < 0.1:
            steps = steps[1:]  # a step that was done is gone
        kept = constraints[:1] if 0.1 <= fault < 0.2 else constraints
        value = characters.document(
            checkpoint_id=f"{name}-{sequence}",
            session_id=name,
            handoff_sequence=sequence,
            task_id=f"T-{number}" if fault < 0.9 else f"T-{number}-b",
            agent_role=roles[sequence % 2] if fault < 0.8 else roles[2],
            completed_steps=list(steps),
            active_constraints=list(kept),
        )
        bodies.append(json.dumps(value).encode())
    return bodies


def write(owner: Orchestrator, sessions: Sequence[Sequence[bytes]]) -> None:
    """Post these sessions side by side, each in its order."""
    actor = Actor("orchestrator", owner.name, owner.name)
    for turn in range(max(len(session) for session in sessions)):
        for session in sessions:
            body = session[turn]
            admission.admit(orchestrator=owner, body=body, submission=read(body), actor=actor)


def work_together(
    owner: Orchestrator, sessions: list[list[bytes]], writers: int, drains: int
) -> list[BaseException]:
    """Writers and drains at once, until everything is judged. Gives what went wrong."""
    errors: list[BaseException] = []
    written = threading.Event()

    def guarded(work: Any) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    def judge() -> None:
        while not written.is_set() or Handoff.objects.of(owner).unjudged().exists():
            drain()

    judges = [threading.Thread(target=guarded, args=(judge,)) for _ in range(drains)]
    posting = [
        threading.Thread(target=guarded, args=(lambda mine=sessions[number::writers]: write(owner, mine),))
        for number in range(writers)
    ]
    for thread in [*judges, *posting]:
        thread.start()
    for thread in posting:
        thread.join()
    written.set()
    for thread in judges:
        thread.join()
    return errors


def verdicts(owner: Orchestrator) -> Verdicts:
    runs = CheckRun.objects.filter(handoff__orchestrator=owner).select_related("handoff__session")
    return {
        (run.handoff.session.session_id, run.handoff.handoff_sequence): (
            run.outcome,
            tuple(sorted((item["code"], item["pointer"]) for item in run.findings)),
        )
        for run in runs.iterator(chunk_size=2000)
    }


@pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.full)], ids=["small", "large"])
def test_verdicts_are_those_of_one_thread_however_many_work(
    own_database: str, size: tuple[int, int, int, int]
) -> None:
    count, posts, writers, drains = size
    chance = random.Random(7)  # noqa: S311 - no secret
    sessions = [session_of(number, posts, chance) for number in range(count)]
    many, one = characters.orchestrator(), characters.orchestrator()
    assert work_together(many, sessions, writers, drains) == []
    found = verdicts(many)
    assert len(found) == count * posts
    assert CheckRun.objects.filter(handoff__orchestrator=many).count() == count * posts
    received = AuditEntry.objects.filter(
        action="handoff.received",
        subject_id__in=[str(pk) for pk in Handoff.objects.of(many).values_list("pk", flat=True)],
    )
    assert received.count() == count * posts
    write(one, sessions)
    while drain():
        pass
    expected = verdicts(one)
    assert found == expected
    said = {code for _, findings in expected.values() for code, _ in findings}
    assert len(said) > 2, "the documents must give the checks something to say about history"
