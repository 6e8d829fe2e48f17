"""What was sealed is proven over the API, in exported bundles and against heads kept outside; rewriting shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import psycopg
import pytest

from checkpoints import verify
from checkpoints.transparency import (
    leaf_hash,
    read_heads,
    read_verifier,
    verify_consistency,
    verify_inclusion,
)
from tests import characters
from tests.api.calling import Api, problem
from tests.calling import run, run_json
from tests.own_database import use_own_database
from tests.sealing import KEY, as_role, seal_everything
from tests.servers import Servers


@pytest.fixture
def trail(django_db_setup: None, django_db_blocker: Any, servers: Servers, worker_number: int) -> Any:
    """A database for one test, with one approved and sealed handoff in it: its name."""
    name = f"tree_gw{worker_number}_{characters.fresh('t').partition('-')[2]}"
    with django_db_blocker.unblock(), use_own_database(servers, name):
        characters.approved(characters.orchestrator())
        seal_everything(servers)
        yield name


def raw(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("sha256:"))


def as_owner(servers: Servers, database: str, *statements: str) -> None:
    """What whoever keeps the database can do: switch the triggers off and rewrite rows."""
    with psycopg.connect(servers.url("owner", database)) as owner:
        for table in ("audit_entry", "audit_text", "audit_leaf", "audit_tile", "tree_head"):
            owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for statement in statements:
            owner.execute(statement)


# The API


def test_a_sealed_entry_is_proven_by_what_the_api_answers(trail: str, servers: Servers) -> None:
    api = Api()
    api.submitted()
    seal_everything(servers)
    [entry, *_] = api.get("/api/v1/audit").json()["results"]
    proof = api.get(f"/api/v1/audit/{entry['id']}/proof").json()
    assert proof["leaf_index"] == entry["leaf_index"]
    [signed] = read_heads(proof["head"]["note"])
    read_verifier(proof["head"]["verifier_key"]).check(signed)
    assert proof["head"]["root"] == "sha256:" + signed.head.root.hex()
    assert raw(proof["leaf_hash"]) == leaf_hash(entry["digest"])
    verify_inclusion(
        leaf=leaf_hash(entry["digest"]),
        index=proof["leaf_index"],
        size=signed.head.size,
        path=[raw(step) for step in proof["path"]],
        root=signed.head.root,
    )


def test_an_entry_that_is_not_sealed_yet_has_no_place(trail: str) -> None:
    api = Api()
    api.submitted()
    [entry, *_] = api.get("/api/v1/audit").json()["results"]
    assert entry["leaf_index"] is None
    proof = api.get(f"/api/v1/audit/{entry['id']}/proof").json()
    assert {name: proof[name] for name in ("leaf_index", "leaf_hash", "path", "head")} == dict.fromkeys(
        ("leaf_index", "leaf_hash", "path", "head")
    )


def test_heads_bring_the_proof_that_they_grew_out_of_one_that_was_kept(trail: str, servers: Servers) -> None:
    api = Api()
    [kept] = api.get("/api/v1/audit/heads").json()["results"]
    assert kept["consistency"] is None
    for _ in range(3):
        api.submitted()
        seal_everything(servers)
    found = api.get(f"/api/v1/audit/heads?earlier={kept['size']}").json()["results"]
    assert [head["size"] for head in found] == sorted((head["size"] for head in found), reverse=True)
    # At least one head a turn; one more where another test's transaction held a part of it back.
    assert len(found) >= 4
    for head in found:
        verify_consistency(
            earlier=kept["size"],
            earlier_root=raw(kept["root"]),
            later=head["size"],
            later_root=raw(head["root"]),
            path=[raw(step) for step in head["consistency"]],
        )


def test_heads_are_read_in_pages(trail: str, servers: Servers) -> None:
    api = Api()
    api.submitted()
    seal_everything(servers)
    first = api.get("/api/v1/audit/heads?page_size=1").json()
    [newest] = first["results"]
    [oldest] = api.get(first["next"].partition("testserver")[2] or first["next"]).json()["results"]
    assert newest["size"] > oldest["size"]


def test_an_entry_is_proven_under_an_older_head_and_not_under_one_before_it(
    trail: str, servers: Servers
) -> None:
    api = Api()
    [before] = api.get("/api/v1/audit/heads").json()["results"]
    api.submitted()
    middle = seal_everything(servers)
    [entry, *_] = api.get("/api/v1/audit").json()["results"]
    api.submitted()
    seal_everything(servers)
    assert api.get(f"/api/v1/audit/{entry['id']}/proof?size={middle}").json()["head"]["size"] == middle
    for size in (before["size"], middle - 1, 0, "x"):
        problem(api.get(f"/api/v1/audit/{entry['id']}/proof?size={size}"), 400, "invalid-parameter")


def test_entries_of_others_are_not_proven(trail: str, servers: Servers) -> None:
    from checkpoints.models import AuditEntry

    theirs = AuditEntry.objects.filter(subject_kind="handoff").values_list("pk", flat=True)[0]
    problem(Api().get(f"/api/v1/audit/{theirs}/proof"), 404, "not-found")
    writer = Api(None, "checkpoints:write")
    problem(writer.get("/api/v1/audit/heads"), 403, "insufficient-scope")


# Rewriting


REWRITES = {
    "an entry with a digest that fits": (
        ["UPDATE audit_entry SET digest = 'sha256:' || repeat('ab', 32) WHERE subject_index = 1"],
        "was changed after it was sealed",
    ),
    "a leaf that is gone": (["DELETE FROM audit_leaf WHERE leaf_index = 1"], "leaf 1 is missing"),
    "the end cut off": (["DELETE FROM audit_leaf WHERE leaf_index >= 2"], "does not match"),
    "a head with another root": (["UPDATE tree_head SET root = sha256('x')"], "differs from what was signed"),
    "a head with another note": (
        ["UPDATE tree_head SET note = replace(note, 'tests', 'other')"],
        "the head is of",
    ),
}


@pytest.mark.parametrize("case", REWRITES)
def test_rewriting_what_was_sealed_shows(trail: str, servers: Servers, case: str) -> None:
    assert run_json("verify_audit", "--key", KEY.verifier.text)[1]["tree"]["problems"] == []
    statements, expected = REWRITES[case]
    as_owner(servers, trail, *statements)
    code, answer = run_json("verify_audit")
    assert (code, answer["valid"]) == (2, False)
    assert any(str(expected) in item for item in answer["tree"]["problems"]), answer["tree"]["problems"]
    assert str(expected) in run("verify_audit")[1]


def test_a_whole_new_tree_does_not_match_a_head_kept_outside(
    trail: str, servers: Servers, tmp_path: Path
) -> None:
    """Whoever keeps the database throws the tree away, rewrites an entry's chain and seals again."""
    from checkpoints.models import TreeHead
    from checkpoints.services import sealing

    heads = tmp_path / "heads.txt"
    heads.write_text(TreeHead.objects.get().note)
    options = ("--heads", str(heads), "--key", KEY.verifier.text)
    assert run_json("verify_audit", *options)[0] == 0
    as_owner(
        servers,
        trail,
        "DELETE FROM audit_leaf", "DELETE FROM tree_head",
        "UPDATE audit_entry SET digest = 'sha256:' || repeat('ab', 32) WHERE subject_index = 1",
    )  # fmt: skip
    with as_role(servers, "sealer"):
        sealing.seal(key=KEY)
    problems = run_json("verify_audit", *options)[1]["tree"]["problems"]
    assert any("head from outside" in item and "does not match" in item for item in problems)


def test_a_restored_older_database_is_called_shrunk(trail: str, servers: Servers, tmp_path: Path) -> None:
    from checkpoints.models import TreeHead

    heads = tmp_path / "heads.txt"
    size = TreeHead.objects.get().size
    heads.write_text(KEY.sign(size=size + 5, root=bytes(32)).note)
    code, answer = run_json("verify_audit", "--heads", str(heads), "--key", KEY.verifier.text)
    assert code == 2
    assert any("the trail shrank" in item for item in answer["tree"]["problems"])


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--heads", "nowhere.txt"), "nowhere.txt"), (("--key", "a+b"), "--key cannot be used")],
)
def test_heads_and_keys_that_cannot_be_read_are_named(
    trail: str, options: tuple[str, str], said: str
) -> None:
    code, _, error = run("verify_audit", *options)
    assert code == 1
    assert said in error


# Bundles


@pytest.fixture
def exported(trail: str, tmp_path: Path) -> Path:
    path = tmp_path / "audit.jsonl"
    assert run("export_audit", str(path))[0] == 0
    return path


def judged(path: Path, *options: str) -> int:
    return verify.main(["audit", str(path), "--key", KEY.verifier.text, *options])


def test_an_exported_bundle_verifies_without_the_installation(
    exported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from checkpoints.models import AuditEntry

    assert judged(exported, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["entries"] == answer["sealed"] == answer["size"] == AuditEntry.objects.count()


CHANGES = {
    "reason": lambda line: line["entry"].update(reason="another"),
    "time": lambda line: line["entry"].update(at="2020-01-01T00:00:00.000000Z"),
    "actor": lambda line: line["entry"]["actor"].update(id="somebody"),
    "digest": lambda line: line["entry"].update(digest="sha256:" + "0" * 64),
    "path": lambda line: line["path"].reverse() or line["path"].append(line["path"][0]),
    "place": lambda line: line["entry"].update(leaf_index=line["entry"]["leaf_index"] + 1),
    "a member that is gone": lambda line: line["entry"].pop("action"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_bundle_is_found_out(
    exported: Path, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = exported.read_text().splitlines()
    line = json.loads(lines[2])
    CHANGES[change](line)
    lines[2] = json.dumps(line)
    exported.write_text("\n".join(lines))
    assert judged(exported) == 1
    assert line["entry"]["id"] in capsys.readouterr().out


def test_a_line_taken_out_of_a_chain_is_found_out(exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = exported.read_text().splitlines()
    at = next(
        number
        for number, line in enumerate(lines)
        if number and json.loads(line)["entry"]["action"] == "handoff.flagged"
    )
    exported.write_text("\n".join(lines[:at] + lines[at + 1 :]))
    assert judged(exported) == 1
    assert "does not follow" in capsys.readouterr().out


def test_a_kept_head_of_the_same_size_with_another_root_is_found_out(
    exported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from checkpoints.models import TreeHead

    kept = tmp_path / "kept.txt"
    kept.write_text(KEY.sign(size=TreeHead.objects.get().size, root=bytes(32)).note)
    assert judged(exported, "--heads", str(kept)) == 1
    assert "rewritten" in capsys.readouterr().out


def test_what_is_no_bundle_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x"
    for text in ("", "{}", "[]", "nothing", '{"bundle": "reviewqueue-audit/1", "head": 3}'):
        path.write_text(text)
        assert judged(path) == 2, text
        assert capsys.readouterr().err.strip()


def test_one_subject_is_exported_alone_and_a_file_is_never_overwritten(trail: str, tmp_path: Path) -> None:
    from checkpoints.models import AuditEntry

    subject = AuditEntry.objects.filter(subject_kind="handoff").values_list("subject_id", flat=True)[0]
    path = tmp_path / "one.jsonl"
    assert run("export_audit", str(path), "--subject", f"handoff:{subject}")[0] == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert {line["entry"]["subject"]["id"] for line in lines[1:]} == {subject}
    assert judged(path) == 0
    before = path.read_bytes()
    code, _, error = run("export_audit", str(path))
    assert (code, path.read_bytes()) == (1, before)
    assert "cannot be written" in error


@pytest.mark.parametrize("options", [("--subject", "x"), ("--from", "yesterday"), ("--to", "9")])
def test_wrong_options_of_the_export_are_named(trail: str, tmp_path: Path, options: tuple[str, str]) -> None:
    code, _, error = run("export_audit", str(tmp_path / "x"), *options)
    assert code == 1
    assert options[0] in error
    assert not (tmp_path / "x").exists()


# The sealer's command


def test_the_sealer_makes_its_key_and_appends_each_head_once(
    trail: str, servers: Servers, tmp_path: Path, settings: Any
) -> None:
    settings.AUDIT_KEY_FILE = tmp_path / "secrets" / "audit-key.pem"
    settings.AUDIT_HEADS_FILE = tmp_path / "heads.txt"
    with as_role(servers, "sealer"):
        code, answer = run_json("seal_audit")
        run_json("seal_audit")
    assert code == 0
    assert settings.AUDIT_KEY_FILE.stat().st_mode & 0o777 == 0o600
    [signed] = read_heads(settings.AUDIT_HEADS_FILE.read_text())
    assert signed.head.size == answer["size"]


def test_a_key_that_others_may_read_is_refused(trail: str, tmp_path: Path, settings: Any) -> None:
    from reviewqueue.services.keys import create_key

    settings.AUDIT_KEY_FILE = tmp_path / "audit-key.pem"
    create_key(path=settings.AUDIT_KEY_FILE)
    settings.AUDIT_KEY_FILE.chmod(0o644)
    code, _, error = run("seal_audit")
    assert code == 1
    assert "0600" in error
