"""The drain judges what is due, once, in the order of each session."""

from __future__ import annotations

from tests import characters


def test_a_harmless_checkpoint_clears(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document())
    assert (handoff.state, handoff.reasons, handoff.finding_codes) == ("cleared", [], [])


def test_a_contradiction_is_flagged_with_its_finding(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document(task_status="completed"))
    assert handoff.state == "flagged"
    assert "HC-18" in handoff.finding_codes
