"""Files are posted over HTTP, as an orchestrator would do it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import pytest

from tests import characters
from tests.calling import run, run_json


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Silent(WSGIRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Nothing on standard error."""


@pytest.fixture(scope="module")
def server(own_database: str) -> Iterator[str]:
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
def token(own_database: str) -> str:
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
