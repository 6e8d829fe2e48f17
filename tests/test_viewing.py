"""What somebody opened before deciding is recorded by the server, for them and for this revision."""

from __future__ import annotations

from datetime import timedelta

import pytest

from checkpoints.services import clock
from reviewqueue.models import Claim, OpenedFinding, Role, Viewing
from reviewqueue.services import claiming
from reviewqueue.services.viewing import newest_run, opened_findings, unopened_high_findings
from tests.characters import document, flagged, judged, orchestrator, person
from tests.visiting import detail_url, signed_in

pytestmark = pytest.mark.django_db


def hash_mismatch(**changes):
    value = document(**changes)
    value["completed_steps"][0]["description"] = "Changed after hashing"
    value["tool_outputs"] = []
    return judged(orchestrator(), value)


def report(client, handoff, **fields):
    return client.post(f"{detail_url(handoff)}seen/", {"revision": handoff.revision, **fields})


def test_an_opened_finding_is_no_longer_missing_for_this_person_alone(db):
    handoff = hash_mismatch()
    alice, bob = person(name="alice"), person(name="bob")
    missing = unopened_high_findings(handoff=handoff, user=alice)
    assert [(item.number, item.code) for item in missing] == [(1, "HC-11")]
    assert missing[0].title
    client = signed_in(alice)
    for _ in range(2):
        assert report(client, handoff, what="finding", number=1, code="HC-11").status_code == 204
    assert unopened_high_findings(handoff=handoff, user=alice) == []
    assert opened_findings(handoff=handoff, user=alice) == {("HC-11", missing[0].pointer)}
    assert unopened_high_findings(handoff=handoff, user=bob) == missing
    assert OpenedFinding.objects.filter(viewing__handoff=handoff).count() == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"what": "finding", "number": 1, "code": "HC-12"},
        {"what": "finding", "number": 99, "code": "HC-11"},
        {"what": "finding", "number": 0, "code": "HC-11"},
        {"what": "finding", "number": "1; drop", "code": "HC-11"},
        {"what": "finding", "number": 1, "code": "HC-11", "revision": 2},
        {"what": "dwell", "seconds": 3601},
        {"what": "dwell", "seconds": -1},
        {"what": "dwell"},
        {"what": "everything"},
        {"what": "diff", "user": "bob"},
    ],
)
def test_what_cannot_be_true_is_refused_and_leaves_no_row(db, fields):
    handoff = hash_mismatch()
    assert report(signed_in(person()), handoff, **fields).status_code == 422
    assert not OpenedFinding.objects.filter(viewing__handoff=handoff).exists()
    assert not Viewing.objects.filter(handoff=handoff).exists()


def test_time_never_grows_faster_than_our_clock(db):
    handoff, alice = flagged(orchestrator()), person(name="alice")
    client = signed_in(alice)
    assert report(client, handoff, what="dwell", seconds=0).status_code == 204
    assert report(client, handoff, what="dwell", seconds=3000).status_code == 204
    row = Viewing.objects.get(handoff=handoff)
    assert row.seconds < 60
    Viewing.objects.filter(pk=row.pk).update(first_at=clock.now() - timedelta(minutes=5), seconds=0)
    for _ in range(2):
        report(client, handoff, what="dwell", seconds=20)
    assert Viewing.objects.get(pk=row.pk).seconds == 40


def test_working_on_the_page_keeps_ones_own_live_claim_and_nobody_elses(db):
    handoff, alice, bob = flagged(orchestrator()), person(name="alice"), person(name="bob")
    claiming.claim(handoff_id=handoff.pk, reviewer=alice)
    soon = clock.now() + timedelta(seconds=30)
    Claim.objects.filter(handoff=handoff).update(expires_at=soon)
    report(signed_in(bob), handoff, what="dwell", seconds=0)
    assert Claim.objects.get(handoff=handoff).expires_at == soon
    report(signed_in(alice), handoff, what="dwell", seconds=0)
    assert Claim.objects.get(handoff=handoff).expires_at > soon
    over = clock.now() - timedelta(seconds=1)
    Claim.objects.filter(handoff=handoff).update(expires_at=over)
    report(signed_in(alice), handoff, what="dwell", seconds=0)
    assert Claim.objects.get(handoff=handoff).expires_at == over, "what has run out is not revived"


def test_the_first_look_at_the_comparison_is_kept(db):
    handoff, alice = flagged(orchestrator()), person(name="alice")
    client = signed_in(alice)
    report(client, handoff, what="diff")
    first = Viewing.objects.get(handoff=handoff, viewer=alice).diff_opened_at
    assert first is not None
    report(client, handoff, what="diff")
    assert Viewing.objects.get(handoff=handoff, viewer=alice).diff_opened_at == first


def test_an_admin_reads_no_bodies_and_has_nothing_to_report(db):
    handoff = hash_mismatch()
    response = report(signed_in(person(Role.ADMIN)), handoff, what="finding", number=1, code="HC-11")
    assert response.status_code == 403
    assert not Viewing.objects.filter(handoff=handoff).exists()


def test_nothing_is_missing_where_nothing_is_high(db):
    handoff = flagged(orchestrator())
    assert newest_run(handoff) is not None
    assert unopened_high_findings(handoff=handoff, user=person()) == []
