"""`python -m checkpoints.verify ticket` judges a ticket without Django or a network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkpoints import signing
from checkpoints.verify import main
from tests import characters
from tests.servers import ROOT


@pytest.fixture
def files(db: None, tmp_path: Path) -> dict[str, Any]:
    """A ticket that was given out, the public keys, and what the receiver got."""
    owner = characters.orchestrator()
    answer = characters.dispatched(owner, characters.approved(owner))
    (tmp_path / "ticket").write_text(str(answer["approval_ticket"]))
    (tmp_path / "jwks.json").write_text(json.dumps(signing.current().jwks()))
    (tmp_path / "payload.json").write_text(json.dumps(answer["payload"]))
    return {"folder": tmp_path, "answer": answer}


def arguments(files: dict[str, Any], *more: str) -> list[str]:
    folder = files["folder"]
    return ["ticket", str(folder / "ticket"), "--jwks", str(folder / "jwks.json"), *more]


def test_a_valid_ticket_for_the_content_that_came_is_accepted(files: dict[str, Any]) -> None:
    payload = str(files["folder"] / "payload.json")
    assert main(arguments(files, "--audience", "billing", "--content", payload)) == 0


def test_another_audience_or_content_is_refused(
    files: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    digest = "sha256:" + "0" * 64
    assert main(arguments(files, "--audience", "legal", "--content-digest", digest, "--json")) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["problems"] == ["ticket-audience", "ticket-content-mismatch"]


def test_a_changed_ticket_is_refused(files: dict[str, Any]) -> None:
    path = files["folder"] / "ticket"
    head, claims, signature = path.read_text().split(".")
    path.write_text(".".join([head, claims, signature[::-1]]))
    assert main(arguments(files)) == 1


def test_a_file_that_cannot_be_read_is_named(
    files: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ticket", "nowhere", "--jwks", "nowhere"]) == 2
    assert "nowhere" in capsys.readouterr().err


def test_the_verifier_loads_no_framework() -> None:
    code = "import sys, checkpoints.verify; sys.exit(bool({'django', 'celery', 'rest_framework'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
