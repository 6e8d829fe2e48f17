"""`make run` itself: the real programs under the real supervisor. Slow, so not in `make test`."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import psycopg
import pytest

from reviewqueue.up.embedded import SUPERUSER, database_url, free_port, postgres_folder
from reviewqueue.up.state import ROOT
from tests.servers import Servers

pytestmark = [pytest.mark.full, pytest.mark.chaos, pytest.mark.xdist_group("running")]


class Running:
    """One `python -m reviewqueue.up` in `data_dir`, ready."""

    def __init__(self, data_dir: Path, **variables: str) -> None:
        self.data_dir, self.port = data_dir, free_port()
        self.output = data_dir.parent / f"output-{self.port}"
        environment = os.environ | {"DATA_DIR": str(data_dir), "PORT": str(self.port)} | variables
        with self.output.open("wb") as output:
            argv = [sys.executable, "-m", "reviewqueue.up"]
            self.process = subprocess.Popen(argv, cwd=ROOT, env=environment, stdout=output, stderr=output)
        self.wait_for("is ready", 120)

    def wait_for(self, text: str, seconds: float) -> None:
        until(lambda: text in self.output.read_text(), seconds, self.output.read_text)

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)  # type: ignore[no-any-return]

    def program(self, name: str) -> psutil.Process:
        """The child whose command line has `name`, not its own children."""
        children = psutil.Process(self.process.pid).children
        until(lambda: any(name in child.cmdline() for child in children()), 10)
        return next(child for child in children() if name in child.cmdline())

    def servers(self) -> Any:
        return json.loads((self.data_dir / "servers.json").read_text())

    def superuser(self) -> psycopg.Connection[Any]:
        """Who sees what the sessions of others do."""
        servers = self.servers()
        port = urlsplit(servers["database_urls"]["owner"]).port
        password = servers["passwords"]["superuser"]
        return psycopg.connect(database_url(role=SUPERUSER, password=password, port=port or 0))

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return json.load(answer)


def until(condition: Callable[[], bool], seconds: float, explain: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {explain()}"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One folder for all tests here: the first start is cold, the others are warm."""
    folder = tmp_path_factory.mktemp("run") / "data"
    yield folder
    shutil.rmtree(postgres_folder(folder), ignore_errors=True)  # for root it may lie outside


@pytest.fixture
def running(data_dir: Path) -> Iterator[Running]:
    one = Running(data_dir)
    yield one
    if one.process.poll() is None:
        one.process.send_signal(signal.SIGTERM)
        one.process.wait(30)


def test_the_demo_is_told_and_written_for_its_owner_only(running: Running, data_dir: Path) -> None:
    demo = json.loads((data_dir / "demo.json").read_text())
    assert (data_dir / "demo.json").stat().st_mode & 0o777 == 0o600
    assert demo["base_url"] == f"http://127.0.0.1:{running.port}"
    roles = [user["role"] for user in demo["users"]]
    assert {role: roles.count(role) for role in roles} == {
        "operator": 2, "senior_operator": 2, "manager": 2, "admin": 1,
    }  # fmt: skip
    said = running.output.read_text()
    assert all(user["password"] in said for user in demo["users"])
    assert demo["token"] in said
    assert running.get("/readyz")["status"] == "ready"


def test_the_programs_connect_as_the_application_and_the_owner_is_no_superuser(running: Running) -> None:
    with running.superuser() as superuser:
        statement = "SELECT DISTINCT usename FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> %s"
        users = {row[0] for row in superuser.execute(statement, [superuser.info.backend_pid])}
        names = [("reviewqueue_app", False), ("reviewqueue_owner", False), ("reviewqueue_sealer", False)]
        query = "SELECT rolname, rolsuper FROM pg_roles WHERE rolname LIKE 'reviewqueue%' ORDER BY rolname"
        assert superuser.execute(query).fetchall() == names
    assert "reviewqueue_app" in users
    assert users <= {"reviewqueue_app", "reviewqueue_sealer"}


@pytest.mark.parametrize("name", ["worker", "beat", "reviewqueue.wsgi:application"])
def test_a_killed_program_is_back_by_itself(running: Running, name: str) -> None:
    before = running.program(name)
    before.kill()
    running.wait_for("ended (signal SIGKILL); starting it again in 0.2 s", 10)
    until(lambda: any(name in child.cmdline() for child in running.family() if child.is_running()), 10)
    assert running.program(name).pid != before.pid


def test_a_killed_database_is_back_with_everything_in_it(running: Running) -> None:
    url = running.servers()["database_urls"]["owner"]
    with psycopg.connect(url) as owner:
        handoffs = owner.execute("SELECT count(*) FROM handoff").fetchone()
    next(child for child in psutil.Process(running.process.pid).children() if "-D" in child.cmdline()).kill()
    running.wait_for("PostgreSQL ended (signal SIGKILL)", 10)

    def ready() -> bool:
        try:
            return bool(running.get("/readyz")["status"] == "ready")
        except OSError:
            return False

    until(ready, 30, running.output.read_text)
    with psycopg.connect(url) as owner:
        assert owner.execute("SELECT count(*) FROM handoff").fetchone() == handoffs


def test_ctrl_c_stops_everything_and_the_database_ends_cleanly(running: Running, data_dir: Path) -> None:
    family = running.family()
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(15) == 0
    assert psutil.wait_procs(family, timeout=1)[1] == []
    log = (data_dir / "logs" / "postgres.log").read_text()
    assert "database system is shut down" in log.splitlines()[-1]


def test_kill_9_while_a_task_runs_leaves_nothing_after_five_seconds(running: Running) -> None:
    family = running.family()
    with psycopg.connect(running.servers()["database_urls"]["owner"]) as owner:
        # The sweep of the worker hangs on this lock: a busy task, whatever the tasks are.
        owner.execute("LOCK TABLE handoff IN ACCESS EXCLUSIVE MODE")

        def busy() -> bool:
            query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            with running.superuser() as other:
                return other.execute(query).fetchone() != (0,)

        until(busy, 20)
        running.process.kill()
        running.process.wait()
        assert psutil.wait_procs(family, timeout=5)[1] == []
        owner.close()


def test_the_death_of_the_starting_process_stops_everything(data_dir: Path) -> None:
    port = free_port()
    environment = os.environ | {"DATA_DIR": str(data_dir), "PORT": str(port)}
    # As `make` does it: a parent that waits, and is killed without a word.
    code = "import subprocess, sys; subprocess.run([sys.executable, '-m', 'reviewqueue.up', '--with-parent'])"
    output = data_dir.parent / "output-of-make"
    with output.open("wb") as file:
        parent = subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, stdout=file, stderr=file
        )
    until(lambda: "is ready" in output.read_text(), 120, output.read_text)
    family = psutil.Process(parent.pid).children(recursive=True)
    parent.kill()
    parent.wait()
    assert psutil.wait_procs(family, timeout=8)[1] == []


def test_other_servers_are_used_where_variables_name_them(servers: Servers, tmp_path: Path) -> None:
    servers.create_database("reviewqueue_elsewhere")
    variables = servers.environment("reviewqueue_elsewhere", number=9)
    one = Running(tmp_path / "data", **variables)
    try:
        names = {child.name() for child in psutil.Process(one.process.pid).children()}
        assert not names & {"postgres", "valkey-server"}
        with psycopg.connect(variables["DATABASE_URL"]) as app:
            assert app.execute("SELECT count(*) > 0 FROM handoff").fetchone() == (True,)
    finally:
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(15) == 0
