"""`manage.py check_file` judges files with the policy in force and stores nothing."""

from __future__ import annotations

import json
from pathlib import Path

from checkpoints.models import Handoff
from tests import characters
from tests.calling import run, run_json


def test_files_are_judged_and_nothing_is_stored(db: None, tmp_path: Path) -> None:
    good, bad = characters.document(), characters.document(task_status="completed")
    for name, document in (("good.json", good), ("bad.json", bad)):
        (tmp_path / name).write_text(json.dumps(document))
    code, answer = run_json("check_file", str(tmp_path / "good.json"), str(tmp_path / "bad.json"))
    assert code == 1
    assert [item["status"] for item in answer["results"]] == ["cleared", "flagged"]
    assert not Handoff.objects.filter(
        checkpoint_id__in=[good["checkpoint_id"], bad["checkpoint_id"]]
    ).exists()


def test_a_clear_file_exits_with_0(db: None, tmp_path: Path) -> None:
    path = tmp_path / "good.json"
    path.write_text(json.dumps(characters.document()))
    code, out, _ = run("check_file", str(path))
    assert (code, "cleared" in out) == (0, True)


def test_a_file_that_is_no_checkpoint_exits_with_2(db: None, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text("{")
    code, out, _ = run("check_file", str(path))
    assert code == 2
    assert "RAW-8" in out
