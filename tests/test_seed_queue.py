"""The seed command fills the queue with handoffs that went the way of all others."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from django.core.management import call_command

from checkpoints.models import AuditEntry, CheckRun, Handoff
from checkpoints.services.audit_verification import entries_in_order, verify
from tests import characters


def seed(*arguments: str) -> dict[str, Any]:
    out = io.StringIO()
    call_command("seed_queue", "--json", *arguments, stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def test_as_many_wait_as_were_asked_for_and_repeating_adds_what_is_missing(own_database: str) -> None:
    rows = Handoff.objects.filter(orchestrator__name="crowd")
    there = rows.count()
    assert seed("--open", "20", "--yes") == {"open": 20, "added": 20 - there}
    assert seed("--open", "30", "--yes") == {"open": 30, "added": 10}
    assert seed("--open", "30", "--yes") == {"open": 30, "added": 0}
    assert set(rows.values_list("state", flat=True)) == {"flagged"}
    assert CheckRun.objects.filter(handoff__in=rows, complete=True).count() == 30
    assert len({row.title for row in rows}) > 15
    assert verify(entries_in_order()).broken == 0


def test_others_database_is_left_alone_unless_asked_twice(own_database: str) -> None:
    characters.flagged(characters.orchestrator())
    before = AuditEntry.objects.count()
    with pytest.raises(SystemExit, match="1"):
        seed("--open", "5")
    assert AuditEntry.objects.count() == before
    crowd = Handoff.objects.filter(orchestrator__name="crowd").count()
    assert seed("--open", f"{crowd + 5}", "--yes") == {"open": crowd + 5, "added": 5}


@pytest.mark.parametrize("wanted", ["0", "-1", "1000001"])
def test_a_number_out_of_range_is_named(own_database: str, wanted: str) -> None:
    before = Handoff.objects.count()
    with pytest.raises(SystemExit, match="1"):
        seed("--open", wanted)
    assert Handoff.objects.count() == before
