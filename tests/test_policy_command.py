"""Policies are shown, checked and published from the command line."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checkpoints.management.answering import Bar
from checkpoints.services.verification import drain
from tests import characters
from tests.calling import run, run_json
from tests.servers import ROOT, Servers


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


def test_a_file_is_simulated_without_publishing_it(own_database: str, tmp_path: Path) -> None:
    from checkpoints.services.policy import active

    owner = characters.orchestrator()
    stopped = characters.judged(owner, characters.document(task_status="completed"))
    version = active(fresh=True).version
    file = written(tmp_path, {"checks": {"HC-18": {"disposition": "warn"}}})
    code, answer = run_json("policy", "simulate", file, "--days", "1")
    assert code == 0
    assert (answer["days"], answer["judged"], answer["not_reproduced"]) == (
        1,
        sum(answer["before"].values()),
        0,
    )
    assert answer["after"]["cleared"] == answer["before"]["cleared"] + answer["differing"]
    found = {item["checkpoint_id"]: item for item in answer["differences"]}[stopped.checkpoint_id]
    assert found["before"] == {"outcome": "flagged", "reasons": ["findings"], "findings": ["HC-18"]}
    assert found["after"] == {"outcome": "cleared", "reasons": [], "findings": ["HC-18"]}
    assert (found["session_id"], found["agent_role"]) == (stopped.session.session_id, "triage")
    assert {"agent_role", "target_role", "before", "after"} == answer["pairs"][0].keys()
    assert answer["codes"]["HC-18"]["before"] == answer["codes"]["HC-18"]["after"] > 0
    code, text, _ = run("policy", "simulate", file, "--days", "1")
    assert code == 0
    assert f"{answer['differences'][0]['checkpoint_id']}: flagged -> cleared" in text
    assert run("policy", "simulate", file, "--days", "1", "--exit-code")[0] == 3
    assert active(fresh=True).version == version
    assert characters.reload(stopped).version == stopped.version


def test_a_policy_that_changes_no_outcome_says_so(own_database: str, tmp_path: Path) -> None:
    characters.judged(characters.orchestrator(), characters.document())
    code, text, _ = run("policy", "simulate", written(tmp_path, {}), "--exit-code")
    assert code == 0
    assert "No outcome would differ." in text
    assert "of the last 30 days" in text


@pytest.mark.parametrize("days", ["0", "-3", "4000"])
def test_days_out_of_range_are_said_plainly(own_database: str, tmp_path: Path, days: str) -> None:
    code, out, err = run("policy", "simulate", written(tmp_path, {}), "--days", days)
    assert (code, out) == (1, "")
    assert days in err


def test_a_simulation_of_a_file_with_mistakes_names_them(own_database: str, tmp_path: Path) -> None:
    code, answer = run_json("policy", "simulate", written(tmp_path, {"retries": 3}))
    assert (code, [error["pointer"] for error in answer["errors"]]) == (2, ["/retries"])


def test_a_bar_shows_progress_on_a_terminal_only() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        bar = Bar("Judging", stream)
        bar(5, 10)
        bar(10, 10)
        bar.end()
    assert "Judging [###############...............] 5/10" in terminal.getvalue()
    assert terminal.getvalue().endswith("10/10\n")
    assert pipe.getvalue() == ""


@pytest.mark.full
def test_two_processes_find_what_one_finds(own_database: str, servers: Servers, tmp_path: Path) -> None:
    owner = characters.orchestrator()
    for number in range(600):
        session = characters.fresh("session")
        characters.post(
            owner,
            characters.document(session_id=session, task_status="completed" if number % 3 else "in_progress"),
        )
    drain(seconds=120)
    file = written(tmp_path, {"checks": {"HC-18": {"disposition": "warn"}}})
    alone, together = (
        json.loads(
            subprocess.run(
                [sys.executable, "manage.py", "policy", "simulate", file, "--days", "1", "--json", *more],
                cwd=ROOT,
                env=os.environ | servers.environment(own_database),
                check=True,
                capture_output=True,
            ).stdout
        )
        for more in (["--processes", "1"], ["--processes", "2"])
    )
    assert together["judged"] == alone["judged"] >= 600
    for member in ("before", "after", "codes", "pairs", "differences"):
        assert together[member] == alone[member], member
