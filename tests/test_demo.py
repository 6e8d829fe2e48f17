"""The demo gets the verdicts it promises, through the services that judge everything else."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from reviewqueue.demo.incidents import Incident, demo_policy, incidents

INCIDENTS = incidents()


def name_of(incident: Incident) -> str:
    return incident.file


@dataclass(frozen=True)
class Demo:
    """The answer of the first `seed_demo`, and where it wrote."""

    answer: dict[str, Any]
    data_dir: Path

    @property
    def file(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.data_dir / "demo.json").read_text())
        return found


def seed() -> dict[str, Any]:
    out = io.StringIO()
    call_command("seed_demo", "--json", stdout=out)
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


@pytest.fixture(scope="module")
def demo(own_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    from django.conf import settings

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "DATA_DIR", tmp_path_factory.mktemp("data"))
        yield Demo(seed(), settings.DATA_DIR)


@pytest.mark.parametrize("incident", INCIDENTS, ids=name_of)
def test_an_incident_gets_the_verdict_that_its_manifest_promises(demo: Demo, incident: Incident) -> None:
    from checkpoints.models import CheckRun

    run = CheckRun.objects.get(handoff__checkpoint_id=incident.checkpoint_id, revision=1)
    stops = {item["code"] for item in run.findings if item["disposition"] in ("reject", "review")}
    warns = {item["code"] for item in run.findings if item["disposition"] == "warn"}
    assert (run.outcome, run.risk, tuple(run.reasons)) == (incident.outcome, incident.risk, incident.reasons)
    assert stops == set(incident.stops)
    assert set(incident.warns) <= warns
    assert run.complete


@pytest.mark.parametrize("incident", INCIDENTS, ids=name_of)
def test_an_incident_ends_where_its_manifest_says(demo: Demo, incident: Incident) -> None:
    from checkpoints.models import Handoff

    handoff = Handoff.objects.get(checkpoint_id=incident.checkpoint_id)
    assert handoff.state == incident.state
    assert incident.checkpoint_id.startswith("demo-")


def test_a_cleared_incident_has_nothing_above_its_announced_warnings(demo: Demo) -> None:
    from checkpoints.models import CheckRun

    for incident in INCIDENTS:
        if incident.outcome == "cleared":
            run = CheckRun.objects.get(handoff__checkpoint_id=incident.checkpoint_id, revision=1)
            above_low = {item["code"] for item in run.findings if item["severity"] != "low"}
            assert above_low == set(incident.warns), incident.file


def test_the_demo_shows_both_formats_both_forms_and_every_position(demo: Demo) -> None:
    from checkpoints.models import Handoff, Refusal

    assert len(INCIDENTS) >= 14
    assert {"handoff/1", "prompty.engine/1"} == set(Handoff.objects.values_list("format", flat=True))
    assert {"payload" in incident.read() for incident in INCIDENTS} == {True, False}
    positions = set(Handoff.objects.values_list("state", flat=True))
    assert positions == {
        "rejected", "flagged", "cleared", "approved", "dispatched", "recoverable", "escalated", "acknowledged",
        "aborted", "cancelled",
    }  # fmt: skip
    slugs = {kind.removeprefix("/problems/") for kind in Refusal.objects.values_list("type", flat=True)}
    assert slugs == {"duplicate-key", "malformed-json"}


def test_a_rejected_document_counts_until_its_sender_repairs_it(demo: Demo) -> None:
    from checkpoints.models import Handoff

    counted = Handoff.objects.rejected_unseen().values_list("checkpoint_id", flat=True)
    assert set(counted) == {"demo-stock-value-1"}


def test_an_edit_in_the_demo_keeps_the_original(demo: Demo) -> None:
    from checkpoints.models import Handoff

    handoff = Handoff.objects.get(checkpoint_id="demo-release-note-1")
    first, second = handoff.checkpoints.order_by("revision")
    assert (first.author_kind, second.author_kind, second.revises) == ("orchestrator", "person", 1)
    assert [step["path"] for step in second.patch if "hash" not in step["path"]] == [
        "/handoff_target/handoff_reason"
    ]


def test_loading_the_demo_again_adds_nothing_and_keeps_the_logins(demo: Demo) -> None:
    before = demo.file
    again = seed()
    assert demo.answer["added"] == len(INCIDENTS)
    assert (again["added"], again["policy_published"], again["credentials_renewed"]) == (0, False, False)
    assert demo.file == before


def test_the_demo_file_has_exactly_what_the_contract_promises(demo: Demo) -> None:
    found = demo.file
    assert set(found) == {"base_url", "token", "users", "second_factor"}
    assert found["second_factor"] == "off"
    roles = [user["role"] for user in found["users"]]
    assert {role: roles.count(role) for role in roles} == {
        "operator": 2, "senior_operator": 2, "manager": 2, "admin": 1,
    }  # fmt: skip
    assert all(set(user) == {"username", "password", "role"} for user in found["users"])
    assert (demo.data_dir / "demo.json").stat().st_mode & 0o777 == 0o600


def test_the_demo_token_has_every_scope_of_its_own_orchestrator(demo: Demo) -> None:
    from checkpoints.models import Scope
    from checkpoints.services.tokens import authenticate

    caller = authenticate(text=demo.file["token"])
    assert caller.orchestrator.name == "demo"
    assert caller.scopes == set(Scope.values)


def test_the_passwords_of_the_demo_open_its_accounts(demo: Demo, settings: Any) -> None:
    from django.contrib.auth.hashers import verify_password

    from reviewqueue.models import User
    from reviewqueue.settings import PASSWORD_HASHERS

    settings.PASSWORD_HASHERS = PASSWORD_HASHERS
    for user in demo.file["users"]:
        account = User.objects.get(username=user["username"])
        assert account.role == user["role"]
        assert verify_password(user["password"], account.password) == (True, True)  # and is hashed anew then
        assert not verify_password(user["password"] + "x", account.password)[0]


def test_lost_logins_are_issued_anew_and_the_old_token_ends(demo: Demo) -> None:
    from checkpoints.errors import ReviewQueueError
    from checkpoints.services.tokens import authenticate

    old = demo.file["token"]
    (demo.data_dir / "demo.json").unlink()
    assert seed()["credentials_renewed"]
    assert demo.file["token"] != old
    with pytest.raises(ReviewQueueError):
        authenticate(text=old)


def test_a_policy_that_was_published_before_is_kept(demo: Demo) -> None:
    from checkpoints.services.policy import active
    from reviewqueue.demo.staging import publish_policy

    assert active(fresh=True).document == demo_policy()
    assert publish_policy() is False


def test_an_account_that_the_demo_did_not_make_is_left_alone(demo: Demo) -> None:
    from reviewqueue.models import User

    ours = User.objects.get(username="senior1")
    User.objects.filter(pk=ours.pk).update(email="someone@else.invalid", password="theirs")
    try:
        with pytest.raises(SystemExit) as ended:
            seed()
        assert ended.value.code == 1
        assert User.objects.get(pk=ours.pk).password == "theirs"
    finally:
        User.objects.filter(pk=ours.pk).update(email=ours.email, password=ours.password)


def test_every_document_of_the_demo_stands_in_the_manifest() -> None:
    from reviewqueue.demo.incidents import FOLDER

    files = {
        f"{folder.name}/{file.name}"
        for folder in (FOLDER / "incidents").iterdir()
        for file in folder.iterdir()
    }
    assert files == {incident.file for incident in INCIDENTS}
