"""Who approves very fast without opening findings sees their own numbers: no lock, and nobody else sees them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from checkpoints.models import Handoff
from checkpoints.services import clock
from reviewqueue.models import OpenedFinding, Role, User, Viewing
from reviewqueue.services import deciding
from reviewqueue.services.pacing import LEAST, QUICK_SECONDS, WINDOW, Look, Pace, judge, pace_of
from tests.characters import flagged, form, fresh, orchestrator, person
from tests.visiting import detail_url, page_text, signed_in

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def looks(count: int = LEAST, seconds: int = 4, findings: int = 1, opened: int = 0) -> list[Look]:
    return [Look(NOON + timedelta(seconds=20 * place), seconds, findings, opened) for place in range(count)]


def test_haste_over_unopened_findings_is_said_in_numbers():
    assert judge(looks()) == Pace(LEAST, 3, 4, LEAST, LEAST)


@pytest.mark.parametrize(
    "calm",
    [
        looks(LEAST - 1),
        looks(seconds=QUICK_SECONDS),
        looks(opened=1),
        looks(findings=0),
        [],
    ],
    ids=["few", "slow", "opened", "nothing to open", "none"],
)
def test_work_that_is_only_quick_or_only_careless_is_left_alone(calm):
    assert judge(calm) is None


def test_it_takes_half_of_those_with_findings():
    mixed = looks()
    opened = [replace(look, opened=1) for look in mixed]
    assert judge([*mixed[:4], *opened[4:]]) is not None
    assert judge([*mixed[:3], *opened[3:]]) is None


def approve_fast(alice: User, count: int, *, seconds: int = 3) -> list[Handoff]:
    owner, session = orchestrator(), fresh("session")
    rows = []
    for place in range(1, count + 1):
        handoff = flagged(owner, session_id=session, handoff_sequence=place, task_id=f"T-{place}")
        Viewing.objects.create(
            handoff=handoff, revision=1, viewer=alice, first_at=clock.now(), seconds=seconds
        )
        deciding.decide(handoff_id=handoff.pk, reviewer=alice, form=form(handoff))
        rows.append(handoff)
    return rows


@pytest.mark.django_db
def test_the_card_shows_ones_own_pace_and_can_be_put_away(db):
    alice = person(name="alice")
    rows = approve_fast(alice, LEAST)
    client = signed_in(alice)
    other = flagged(orchestrator())
    for path in ("/queue/", detail_url(other)):
        text = page_text(client.get(path))
        assert f"{LEAST} approvals in 1 min, half of them in 3 s or less" in text
        assert f"In {LEAST} of the {LEAST} that had findings you opened none." in text
    assert detail_url(rows[-1]) in client.get("/queue/?q=nothing-like-it").content.decode(), "to look again"
    deciding.decide(handoff_id=other.pk, reviewer=alice, form=form(other))  # nothing is locked
    assert client.post("/pace/hide/", {"next": "/queue/?view=mine"})["Location"] == "/queue/?view=mine"
    assert "half of them" not in page_text(client.get("/queue/"))


@pytest.mark.django_db
def test_nobody_else_sees_it(db):
    alice = person(name="alice")
    approve_fast(alice, LEAST)
    for role in (Role.MANAGER, Role.SENIOR_OPERATOR):
        client = signed_in(person(role))
        for path in ("/queue/", "/dashboard/"):
            assert "half of them in" not in page_text(client.get(path))


@pytest.mark.django_db
def test_what_no_browser_told_and_what_is_long_ago_does_not_count(db):
    alice = person(name="alice")
    rows = approve_fast(alice, LEAST)
    now = clock.now()
    assert pace_of(person=alice, at=now) is not None
    assert pace_of(person=alice, at=now + WINDOW) is None
    for viewing in Viewing.objects.filter(viewer=alice)[: LEAST // 2 + 1]:
        OpenedFinding.objects.create(viewing=viewing, code="HC-27", pointer="", at=now)
    assert pace_of(person=alice, at=now) is None
    OpenedFinding.objects.filter(viewing__viewer=alice).delete()
    Viewing.objects.get(viewer=alice, handoff=rows[0]).delete()
    assert pace_of(person=alice, at=now) is None
