"""Policies are shown, checked and published from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.calling import run, run_json


def written(tmp_path: Path, document: object) -> str:
    file = tmp_path / "policy.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(file)


def test_a_published_policy_is_shown_counts_at_once_and_is_audited(own_database: str, tmp_path: Path) -> None:
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
    own_database: str, tmp_path: Path, verb: str
) -> None:
    from checkpoints.services.policy import active

    before = active(fresh=True).version
    file = written(tmp_path, {"retries": 3, "max_document_bytes": 0})
    code, answer = run_json("policy", verb, file)
    assert code == 2
    assert {error["pointer"] for error in answer["errors"]} == {"/retries", "/max_document_bytes"}
    assert "/retries" in run("policy", verb, file)[2]
    assert active(fresh=True).version == before


def test_a_valid_policy_is_only_looked_at_by_validate(own_database: str, tmp_path: Path) -> None:
    from checkpoints.services.policy import active

    before = active(fresh=True).version
    assert run_json("policy", "validate", written(tmp_path, {"max_retries": 1})) == (0, {"valid": True})
    assert active(fresh=True).version == before


def test_a_policy_with_a_member_twice_is_refused(own_database: str, tmp_path: Path) -> None:
    code, answer = run_json("policy", "apply", written(tmp_path, '{"max_retries": 1, "max_retries": 9}'))
    assert (code, answer["code"]) == (2, "duplicate-key")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(["apply"], "FILE"), (["apply", "/nowhere/policy.json"], "/nowhere/policy.json"), (["show", "9999"], "9999"),
     (["show", "newest"], "newest")],
)  # fmt: skip
def test_a_policy_that_cannot_be_found_is_said_plainly(
    own_database: str, arguments: list[str], named: str
) -> None:
    code, out, err = run("policy", *arguments)
    assert (code, out) == (1, "")
    assert named in err
