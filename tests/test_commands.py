"""The commands do what their help says, and their exit codes tell a shell what happened."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import psycopg
import pytest
from django.core.management import call_command

from tests import characters
from tests.own_database import own_database
from tests.servers import ROOT, Servers


@pytest.fixture(scope="module")
def database(
    django_db_setup: None, django_db_blocker: Any, servers: Servers, worker_number: int
) -> Iterator[str]:
    """A database in which this module publishes policies and breaks the audit trail. Gives its name."""
    name = f"commands_gw{worker_number}"
    with django_db_blocker.unblock(), own_database(servers, name):
        yield name


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command(*arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, out.getvalue(), err.getvalue()


def run_json(*arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = run(*arguments, "--json")
    return code, json.loads(out)


# policy


def written(tmp_path: Path, document: object) -> str:
    file = tmp_path / "policy.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(file)


def test_a_published_policy_is_shown_counts_at_once_and_is_audited(database: str, tmp_path: Path) -> None:
    from checkpoints.models import AuditEntry
    from checkpoints.services.policy import active

    document = {"max_retries": 7, "risk": {"rules": [{"when": {"target_role": "payments"}, "level": "high"}]}}
    code, answer = run_json("policy", "apply", written(tmp_path, document), "--note", "fewer surprises")
    assert code == 0
    assert active(fresh=True).version == answer["version"]
    shown = run_json("policy", "show")[1]
    assert (shown["version"], shown["document"]) == (answer["version"], document)
    assert (shown["effective"]["max_retries"], shown["effective"]["clock_skew_seconds"]) == (7, 300)
    assert json.loads(run("policy", "show", str(answer["version"]))[1]) == document
    newest = run_json("policy", "history")[1]["versions"][0]
    assert (newest["version"], newest["published_by"], newest["note"]) == (
        answer["version"], "system:cli", "fewer surprises",
    )  # fmt: skip
    entry = AuditEntry.objects.filter(subject_kind="policy").latest("subject_index")
    assert (entry.action, entry.actor_id, entry.policy_version) == (
        "policy.published", "system:cli", answer["version"],
    )  # fmt: skip


@pytest.mark.parametrize("verb", ["apply", "validate"])
def test_mistakes_of_a_policy_are_named_with_their_pointers_and_nothing_is_published(
    database: str, tmp_path: Path, verb: str
) -> None:
    from checkpoints.services.policy import active

    before = active(fresh=True).version
    file = written(tmp_path, {"retries": 3, "max_document_bytes": 0})
    code, answer = run_json("policy", verb, file)
    assert code == 2
    assert {error["pointer"] for error in answer["errors"]} == {"/retries", "/max_document_bytes"}
    assert "/retries" in run("policy", verb, file)[2]
    assert active(fresh=True).version == before


def test_a_valid_policy_is_only_looked_at_by_validate(database: str, tmp_path: Path) -> None:
    from checkpoints.services.policy import active

    before = active(fresh=True).version
    assert run_json("policy", "validate", written(tmp_path, {"max_retries": 1})) == (0, {"valid": True})
    assert active(fresh=True).version == before


def test_a_policy_with_a_member_twice_is_refused(database: str, tmp_path: Path) -> None:
    code, answer = run_json("policy", "apply", written(tmp_path, '{"max_retries": 1, "max_retries": 9}'))
    assert (code, answer["code"]) == (2, "duplicate-key")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["apply"], "FILE"), (["apply", "/nowhere/policy.json"], "/nowhere/policy.json"), (["show", "9999"], "9999"),
     (["show", "newest"], "newest")],
)  # fmt: skip
def test_a_policy_that_cannot_be_found_is_said_plainly(
    database: str, arguments: list[str], named: str
) -> None:
    code, out, err = run("policy", *arguments)
    assert (code, out) == (1, "")
    assert named in err


# verify_audit


@pytest.fixture
def audited(database: str) -> str:
    """A handoff with a chain of its own; gives its id."""
    return str(characters.approved(characters.orchestrator()).pk)


def test_an_untouched_audit_trail_verifies(audited: str) -> None:
    from checkpoints.models import AuditEntry

    code, answer = run_json("verify_audit")
    assert (code, answer["valid"], answer["broken"]) == (0, True, 0)
    assert answer["entries"] == AuditEntry.objects.count()
    chains = AuditEntry.objects.values("subject_kind", "subject_id").distinct().count()
    assert answer["chains"] == chains
    assert f"{answer['entries']} entries" in run("verify_audit")[1]


TAMPERED = {
    "another actor": (
        "UPDATE audit_entry SET actor_id = 'u_somebody' WHERE id = %s",
        "digest does not match",
    ),
    "another time": (
        "UPDATE audit_entry SET at = at - interval '1 day' WHERE id = %s",
        "digest does not match",
    ),
    "another reason": ("UPDATE audit_text SET reason = 'none' WHERE entry_id = %s", "text_commitment"),
    "another salt": ("UPDATE audit_text SET salt = sha256('x') WHERE entry_id = %s", "text_commitment"),
    "another link": ("UPDATE audit_entry SET previous_digest = 'sha256:0' WHERE id = %s", "previous_digest"),
    "a lost entry": (
        "WITH gone AS (DELETE FROM audit_text WHERE entry_id = %s RETURNING entry_id) "
        "DELETE FROM audit_entry WHERE id IN (SELECT entry_id FROM gone)",
        "is missing",
    ),
}


@pytest.fixture
def tamperable(
    django_db_setup: None, django_db_blocker: Any, servers: Servers, worker_number: int
) -> Iterator[tuple[str, list[Any]]]:
    """A database for one test, with one approved handoff: its name and the entries of the handoff."""
    from checkpoints.models import AuditEntry

    name = f"tampered_gw{worker_number}_{characters.fresh('t').partition('-')[2]}"
    with django_db_blocker.unblock(), own_database(servers, name):
        handoff = characters.approved(characters.orchestrator())
        yield name, list(AuditEntry.objects.filter(subject_id=str(handoff.pk)).order_by("subject_index"))


def rewrite(servers: Servers, database: str, statement: str, entry_id: object) -> None:
    """What the owner of the tables can do: switch the triggers off and rewrite rows."""
    with psycopg.connect(servers.url("owner", database)) as owner:
        for table in ("audit_entry", "audit_text"):
            owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        owner.execute(statement, [entry_id])


@pytest.mark.parametrize("case", TAMPERED)
def test_a_tampered_entry_is_named(tamperable: tuple[str, list[Any]], servers: Servers, case: str) -> None:
    database, chain = tamperable
    statement, problem = TAMPERED[case]
    assert run("verify_audit")[0] == 0
    rewrite(servers, database, statement, chain[1].pk)
    code, answer = run_json("verify_audit")
    named = chain[2] if case == "a lost entry" else chain[1]
    assert (code, answer["valid"]) == (2, False)
    assert answer["first"][0]["entry_id"] == str(named.pk)
    assert problem in answer["first"][0]["problem"]
    assert str(named.pk) in run("verify_audit")[1]


def test_erased_text_leaves_a_trail_that_still_verifies(
    tamperable: tuple[str, list[Any]], servers: Servers
) -> None:
    database, chain = tamperable
    rewrite(servers, database, "DELETE FROM audit_text WHERE entry_id = %s", chain[0].pk)
    code, answer = run_json("verify_audit")
    assert (code, answer["erased"], answer["broken"]) == (0, 1, 0)


def test_a_trail_longer_than_a_page_is_read_whole(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkpoints.models import AuditEntry
    from checkpoints.services import audit_verification

    characters.approved(characters.orchestrator())
    monkeypatch.setattr(audit_verification, "PAGE", 3)
    read = [entry.pk for entry in audit_verification.entries_in_order()]
    assert len(read) == len(set(read)) == AuditEntry.objects.count() > 3


# accounts and key


def test_an_admin_is_made_with_a_random_password_and_audited(database: str) -> None:
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


def test_a_password_from_a_file_is_not_printed(database: str, tmp_path: Path) -> None:
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
    database: str, tmp_path: Path, name: str, password: str | None, problem: str
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


# doctor


def test_the_doctor_finds_nothing_wrong_and_masks_secrets(
    database: str, servers: Servers, server_environment: dict[str, str], settings: Any
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
    database: str, key_file: Path, settings: Any, servers: Servers
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


# post_checkpoint


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Silent(WSGIRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Nothing on standard error."""


@pytest.fixture(scope="module")
def server(database: str) -> Iterator[str]:
    """The product's own API over HTTP, without a worker. Gives its address."""
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    with _Server(("127.0.0.1", 0), _Silent) as found:
        found.set_app(application)
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()
        thread.join()


@pytest.fixture
def token(database: str) -> str:
    from checkpoints.services.tokens import create_token
    from checkpoints.types import COMMAND_LINE

    text, _ = create_token(orchestrator_name=characters.fresh("orchestrator"), actor=COMMAND_LINE)
    return text


def saved(tmp_path: Path, value: dict[str, Any] | str) -> str:
    file = tmp_path / f"{characters.fresh('checkpoint')}.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(file)


def test_files_are_posted_over_http_and_their_verdicts_printed(
    server: str, token: str, tmp_path: Path
) -> None:
    from checkpoints.services.verification import drain

    good, bad = characters.document(), characters.document(task_status="completed")
    files = [saved(tmp_path, good), saved(tmp_path, bad)]
    options = ["--url", server, "--token", token, "--wait", "0"]
    code, answer = run_json("post_checkpoint", *files, *options)
    assert (code, [result["status"] for result in answer["results"]]) == (3, [201, 201])
    drain()
    code, answer = run_json("post_checkpoint", *files, *options)
    assert code == 0
    assert [result["status"] for result in answer["results"]] == [200, 200]
    assert [result["handoff"]["verdict"]["outcome"] for result in answer["results"]] == ["cleared", "flagged"]
    told = run("post_checkpoint", *files, *options)[1].splitlines()
    assert "cleared" in told[0]
    assert "flagged (findings)" in told[1]
    assert "HC-18 high" in told[1]


def test_a_refused_file_is_explained_and_the_others_are_still_posted(
    server: str, token: str, tmp_path: Path
) -> None:
    files = [saved(tmp_path, '{"a": 1, "a": 2}'), saved(tmp_path, characters.document())]
    code, answer = run_json("post_checkpoint", *files, "--url", server, "--token", token, "--wait", "0")
    assert code == 2
    assert [result["status"] for result in answer["results"]] == [422, 201]
    assert answer["results"][0]["problem"]["type"] == "/problems/duplicate-key"


def test_without_an_address_the_server_of_the_demo_is_used(
    server: str, token: str, tmp_path: Path, settings: Any
) -> None:
    settings.DATA_DIR = tmp_path
    file = saved(tmp_path, characters.document())
    code, out, err = run("post_checkpoint", file)
    assert (code, out) == (1, "")
    assert "make run" in err
    (tmp_path / "demo.json").write_text(json.dumps({"base_url": server, "token": token}))
    assert run_json("post_checkpoint", file, "--wait", "0")[1]["results"][0]["status"] == 201


def test_a_server_that_is_not_there_is_named(tmp_path: Path) -> None:
    file = saved(tmp_path, characters.document())
    code, out, err = run("post_checkpoint", file, "--url", "http://127.0.0.1:1", "--token", "rq_x")
    assert (code, out) == (1, "")
    assert "http://127.0.0.1:1" in err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["--url", "ftp://127.0.0.1", "--token", "x"], "ftp://127.0.0.1"), (["--url", "http://127.0.0.1"], "--token")],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_said_before_anything_is_posted(
    tmp_path: Path, arguments: list[str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REVIEWQUEUE_TOKEN", raising=False)
    code, _, err = run("post_checkpoint", saved(tmp_path, characters.document()), *arguments)
    assert code == 1
    assert named in err


# all


def test_every_command_of_ours_documents_its_exit_codes_and_answers_json() -> None:
    from django.core.management import get_commands, load_command_class

    from checkpoints.management.answering import AnsweringCommand

    ours = {name: app for name, app in get_commands().items() if app in ("checkpoints", "reviewqueue")}
    assert len(ours) >= 7
    for name, app in ours.items():
        command = load_command_class(app, name)
        assert isinstance(command, AnsweringCommand), name
        assert "Exit codes: 0" in command.help, name
