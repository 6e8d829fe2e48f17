"""Accounts, the signing key, and the installation's health from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import characters
from tests.calling import run, run_json
from tests.servers import ROOT, Servers


def test_an_admin_is_made_with_a_random_password_and_audited(own_database: str) -> None:
    from checkpoints.models import AuditEntry
    from reviewqueue.models import User

    name = characters.fresh("admin")
    code, answer = run_json("create_admin", name)
    user = User.objects.get(username=name)
    assert (code, answer["role"], user.role) == (0, "admin", "admin")
    assert user.check_password(answer["password"])
    assert len(answer["password"]) >= 16
    entry = AuditEntry.objects.get(subject_kind="account", subject_id=user.public_id)
    assert (entry.action, entry.actor_id) == ("account.created", "system:cli")


def test_a_password_from_a_file_is_not_printed(own_database: str, tmp_path: Path) -> None:
    from reviewqueue.models import User

    name, file = characters.fresh("operator"), tmp_path / "password"
    file.write_text("long enough and not common\nsecond line\n")
    code, out, _ = run("create_admin", name, "--role", "operator", "--password-file", str(file))
    user = User.objects.get(username=name)
    assert (code, user.role) == (0, "operator")
    assert user.check_password("long enough and not common")
    assert "long enough" not in out


@pytest.mark.parametrize(
    ("name", "password", "problem"),
    [("taken", None, "exists already"), ("no spaces here", None, "letters"), ("short", "abc", "too short")],
)
def test_an_account_that_cannot_be_made_says_why(
    own_database: str, tmp_path: Path, name: str, password: str | None, problem: str
) -> None:
    from reviewqueue.models import User

    if name == "taken" and not User.objects.filter(username=name).exists():
        characters.person()
        User.objects.create_user(username=name, password="correct horse battery")
    before, file = User.objects.count(), tmp_path / "password"
    file.write_text(password or "correct horse battery")
    code, _, err = run("create_admin", name, "--password-file", str(file))
    assert code == 1
    assert problem in err
    assert User.objects.count() == before


@pytest.fixture
def key_file(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """An installation without a key."""
    from checkpoints import signing
    from reviewqueue.services.minting import install_signer

    before = signing.current()
    settings.TICKET_KEY_FILE = tmp_path / "secrets" / "key.pem"
    install_signer()
    yield settings.TICKET_KEY_FILE
    signing.install(before)


def test_a_signing_key_is_made_once_and_never_overwritten(key_file: Path) -> None:
    first = run_json("create_signing_key")
    content = key_file.read_bytes()
    second = run_json("create_signing_key")
    assert (first[0], first[1]["created"], second[0], second[1]["created"]) == (0, True, 0, False)
    assert first[1]["kid"] == second[1]["kid"]
    assert key_file.read_bytes() == content
    assert key_file.stat().st_mode & 0o777 == 0o600
    assert list(key_file.parent.iterdir()) == [key_file]


def test_a_process_that_started_without_a_key_signs_as_soon_as_there_is_one(key_file: Path) -> None:
    from checkpoints import signing
    from checkpoints.errors import Unavailable

    with pytest.raises(Unavailable) as refused:
        signing.current().sign({"iss": "test"})
    assert refused.value.slug == "signer-unavailable"
    run("create_signing_key")
    assert signing.current().sign({"iss": "test"}).count(".") == 2


def test_a_key_that_others_may_read_is_not_used(key_file: Path) -> None:
    from reviewqueue.services.minting import install_signer

    run("create_signing_key")
    key_file.chmod(0o644)
    install_signer()  # another process: this one has read the key already
    code, out, err = run("create_signing_key")
    assert (code, out) == (1, "")
    assert "0600" in err


def test_the_doctor_finds_nothing_wrong_and_masks_secrets(
    own_database: str, servers: Servers, server_environment: dict[str, str], settings: Any
) -> None:
    environment = os.environ | server_environment | {"TICKET_KEY_FILE": str(settings.TICKET_KEY_FILE)}
    argv = [sys.executable, "manage.py", "doctor", "--json"]
    ended = subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    answer = json.loads(ended.stdout)
    assert ended.returncode == 0, answer
    states = {name: check["state"] for name, check in answer["checks"].items()}
    states.pop("worker")  # none runs in this test, and another test may have been one
    assert states == dict.fromkeys(
        ("database", "migrations", "rights", "broker", "signing_key", "secret_key"), "ok"
    )
    assert answer["settings"]["REDIS_URL"].startswith("redis://:***@127.0.0.1:")
    for secret in (*servers.passwords.values(), servers.valkey_password):
        assert secret not in ended.stdout


def test_the_doctor_names_every_part_that_fails(
    own_database: str, key_file: Path, settings: Any, servers: Servers
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    settings.SECRET_KEY_IS_RANDOM = True
    code, answer = run_json("doctor")
    failed = {name for name, check in answer["checks"].items() if check["state"] == "failed"}
    assert (code, failed) == (2, {"broker", "signing_key", "secret_key"})
    assert "create_signing_key" in answer["checks"]["signing_key"]["detail"]


def test_passwords_inside_addresses_are_never_shown() -> None:
    from reviewqueue.management.commands.doctor import _shown

    assert _shown("REDIS_URL", "redis://:hidden@127.0.0.1:6379/0") == "redis://:***@127.0.0.1:6379/0"
    assert _shown("SECRET_KEY", "hidden") == "(set)"
    assert _shown("METRICS_TOKEN", "") == "(not set)"
    assert _shown("TICKET_KEY_FILE", "/run/secrets/key.pem") == "/run/secrets/key.pem"


def test_every_command_of_ours_documents_its_exit_codes_and_answers_json() -> None:
    from django.core.management import get_commands, load_command_class

    from checkpoints.management.answering import AnsweringCommand

    ours = {name: app for name, app in get_commands().items() if app in ("checkpoints", "reviewqueue")}
    assert len(ours) >= 7
    for name, app in ours.items():
        command = load_command_class(app, name)
        # What exports a file prints that file, and nothing else.
        assert isinstance(command, AnsweringCommand) or name.startswith("export_"), name
        assert "Exit codes: 0" in command.help, name
