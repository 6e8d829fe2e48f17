"""Checkpoints that Microsoft's own turn engine wrote: nothing above low may be said about them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from checkpoints.checks.runner import run
from checkpoints.formats import admit
from checkpoints.policies import judge
from checkpoints.types import Severity, Submission
from tests.checks.engine_documents import context, hits, severity

FOLDER = Path(os.environ.get("SHARED_DATA", Path(__file__).parents[3] / "shared" / "data")) / "engine"
NAMES = (*(f"engine_{number}.json" for number in range(1, 13)), "engine_py_1.json")
# The parent of engine_1 to engine_4 was never posted; engine_5 to engine_8 lean on the provider.
HINTS = {"EC-13", "EC-52", "EH-09"}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the engine's documents are not here")


def read(name: str) -> Submission:
    return admit((FOLDER / name).read_bytes())


def test_the_engines_own_checkpoints_get_no_finding_above_low() -> None:
    latest: dict[tuple[str | None, ...], Submission] = {}
    for name in NAMES:
        submission = read(name)
        facts = submission.facts
        run_of = (submission.session_id, facts.turn_id, facts.run_id)
        found = hits(submission, previous=latest.get(run_of))
        latest[run_of] = submission
        assert {hit.code for hit in found} <= HINTS, name
        assert {severity(hit) for hit in found} <= {Severity.LOW}, name
    assert len(latest) == 6


def test_all_families_together_are_as_silent() -> None:
    for name in NAMES:
        judged = run(read(name), context())
        assert {"engine", "engine_history"} <= set(judged.families), name
        assert judged.not_judged == (), name
        assert {hit.code for hit in judged.hits} <= HINTS, name


def test_only_the_unknown_model_call_waits_for_a_person() -> None:
    flagged = {name: judge(read(name), context()) for name in NAMES}

    waiting = {
        name: judgement.reasons for name, judgement in flagged.items() if judgement.outcome == "flagged"
    }
    assert waiting == {"engine_10.json": ("reconciliation",)}
    assert {judgement.outcome for judgement in flagged.values()} == {"flagged", "cleared"}
