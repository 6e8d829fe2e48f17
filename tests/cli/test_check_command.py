"""`python -m checkpoints.cli check`: files in, verdicts and exit codes out."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from checkpoints.cli.__main__ import main
from tests.checks.documents import all_of, changed, set_at, without

AT = "2026-03-02T09:00:30Z"
FIRST = all_of(
    set_at("/checkpoint_id", "0195a6f2-4c1e-7b3a-9d55-2f0c8e1b7a63"),
    set_at("/handoff_sequence", 3),
    set_at("/timestamp", "2026-03-02T08:59:00Z"),
    set_at("/recovery_instructions/idempotency_key", "k3"),
)


@pytest.fixture
def write(tmp_path):
    def _write(name, document):
        path = tmp_path / name
        path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return str(path)

    return _write


def run(capsys, *arguments):
    code = main(["check", *arguments, "--at", AT])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def results(capsys, *arguments):
    code, out, _ = run(capsys, *arguments, "--json")
    return code, json.loads(out)["results"]


def test_a_clean_file_clears_with_0(capsys, write):
    code, out, _ = run(capsys, write("clean.json", changed()))
    assert (code, out.splitlines()[0].rpartition(": ")[2]) == (0, "cleared")


def test_a_flagged_file_gives_1_and_says_why(capsys, write):
    code, out, _ = run(capsys, write("bad.json", changed(set_at("/task_status", "completed"))))
    assert code == 1
    assert "flagged (findings)" in out
    assert "HC-18 high   review /in_progress_step" in out


def test_a_rejected_file_gives_1_and_names_what_was_not_judged(capsys, write):
    code, out, _ = run(capsys, write("bad.json", changed(without("/task_id"))))
    assert code == 1
    assert "rejected (findings)" in out
    assert "not judged: HC-11" in out


@pytest.mark.parametrize("text", ["{", "[]", '{"session_id": "a", "session_id": "b"}', '{"task_id": "x"}'])
def test_a_file_that_would_be_refused_gives_2(capsys, write, text):
    code, found = results(capsys, write("refused.json", text), write("clean.json", changed()))
    assert code == 2
    assert [result["status"] for result in found] == ["refused", "cleared"]
    assert found[0]["problem"]


def test_a_missing_file_gives_2_and_a_sentence(capsys, tmp_path):
    code, out, err = run(capsys, str(tmp_path / "none.json"))
    assert (code, out) == (2, "")
    assert "cannot be read" in err


def test_files_are_history_for_the_later_ones_of_their_session(capsys, write):
    lost = changed(without("/completed_steps/0"))
    code, found = results(capsys, write("1.json", changed(FIRST)), write("2.json", lost))
    assert code == 1
    assert [[finding["code"] for finding in result["findings"]] for result in found] == [[], ["HC-47"]]


def test_another_session_is_no_history(capsys, write):
    elsewhere = changed(FIRST, set_at("/session_id", "other"))
    code, _ = results(
        capsys, write("1.json", elsewhere), write("2.json", changed(without("/completed_steps/0")))
    )
    assert code == 0


def test_a_rejected_file_is_no_predecessor(capsys, write):
    rejected = changed(FIRST, without("/task_status"))
    _, found = results(
        capsys, write("1.json", rejected), write("2.json", changed(without("/completed_steps/0")))
    )
    assert found[1]["findings"] == []


def test_order_gaps_keys_and_call_ids_are_compared(capsys, write):
    late = changed(
        set_at("/handoff_sequence", 9), set_at("/checkpoint_id", "0195a6f2-4c1e-7b3a-9d55-2f0c8e1b7a99")
    )
    other = changed(
        FIRST, set_at("/session_id", "other"), set_at("/tool_outputs/0/result_summary", "Another policy")
    )
    names = [
        write("1.json", changed()),
        write("2.json", late),
        write("3.json", changed(FIRST)),
        write("4.json", other),
    ]
    _, found = results(capsys, *names)
    codes = [[finding["code"] for finding in result["findings"]] for result in found]
    assert codes == [[], ["HC-67", "HC-46"], ["HC-45", "HC-78"], ["HC-82"]]


def test_loops_and_ping_pong_are_counted(capsys, write):
    names = []
    for number in range(1, 7):
        roles = ("intake", "assessor") if number % 2 else ("assessor", "intake")
        document = changed(
            set_at("/handoff_sequence", number),
            set_at("/checkpoint_id", f"0195a6f2-4c1e-7b3a-9d55-2f0c8e1b7a0{number}"),
            set_at("/agent_role", roles[0]),
            set_at("/handoff_target/target_role", roles[1]),
            set_at("/recovery_instructions/idempotency_key", f"k{number}"),
        )
        names.append(write(f"{number}.json", document))
    _, found = results(capsys, *names)
    codes = [{finding["code"] for finding in result["findings"]} for result in found]
    assert codes == [set(), set(), set(), set(), {"HC-78", "HC-80"}, {"HC-78", "HC-80"}]


def test_a_policy_file_steers_the_checks(capsys, write):
    policy = write("policy.json", {"checks": {"HC-18": {"disposition": "warn"}}})
    bad = write("bad.json", changed(set_at("/task_status", "completed")))
    assert run(capsys, bad, "--policy", policy)[0] == 0


@pytest.mark.parametrize("text", ["{", '{"rolez": {}}', '{"max_retries": 1, "max_retries": 2}'])
def test_a_policy_that_cannot_be_used_gives_2(capsys, write, text):
    code, _, err = run(capsys, write("clean.json", changed()), "--policy", write("policy.json", text))
    assert code == 2
    assert "is no policy" in err


def test_json_holds_the_verdict_and_findings_of_the_api(capsys, write):
    _, found = results(capsys, write("bad.json", changed(set_at("/task_status", "completed"))))
    assert found[0]["verdict"]["outcome"] == "flagged"
    assert set(found[0]["findings"][0]) == {
        "code", "name", "severity", "disposition", "pointer", "message", "expected", "actual", "origin",
    }  # fmt: skip
    assert found[0]["verdict"]["document_tokens"] > found[0]["verdict"]["context_tokens"] > 0


def test_the_terminal_gets_no_control_characters(capsys, write):
    document = changed(set_at("/task_status", "do\x1b[2Jne\u202e"))
    _, out, _ = run(capsys, write("bad.json", document))
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_standard_input_is_a_file_too(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(changed()).encode())))
    assert run(capsys, "-")[0] == 0


def test_a_time_that_is_none_gives_2(capsys, write):
    assert main(["check", write("clean.json", changed()), "--at", "noon"]) == 2
    assert "--at noon is no time" in capsys.readouterr().err


def test_it_runs_as_a_module_without_django(write):
    program = (
        "import runpy, sys; sys.argv = ['check', 'check', sys.argv[1], '--at', sys.argv[2]]\n"
        "try: runpy.run_module('checkpoints.cli', run_name='__main__')\n"
        "finally: assert not {'django', 'celery', 'psycopg'} & set(sys.modules), 'a framework was loaded'"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, write("clean.json", changed()), AT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith("cleared")
