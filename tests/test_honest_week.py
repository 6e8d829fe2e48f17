"""Orchestrators that tell the truth are not stopped, and hear little."""

from __future__ import annotations

import pytest

from tests.characters import person
from tools.honest.replay import HANDOFFS_A_ROUND, replay


@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.full)])
def test_an_honest_week_stops_nothing_for_consistency(own_database: str, rounds: int) -> None:
    week = replay(rounds=rounds, reviewer=person())
    figures = week.figures()
    assert figures["handoffs"] == rounds * HANDOFFS_A_ROUND
    assert week.stopped == []
    assert figures["findings_median"] == 0, figures
    assert figures["findings_p95"] <= 2, figures
