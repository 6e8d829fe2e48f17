"""The supervisor with small programs as children: restarts, giving up, stopping, sudden death."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from reviewqueue.up.children import spawn
from reviewqueue.up.supervisor import Child, KeepsCrashing, Supervisor


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    one = Supervisor()
    yield one
    one.stop()


def program(tmp_path: Path, code: str) -> Callable[[], subprocess.Popen[bytes]]:
    argv = [sys.executable, "-c", code]
    return lambda: spawn(argv, log=tmp_path / "log", death_signal=signal.SIGTERM)


def check_until(supervisor: Supervisor, condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "It did not come about in time."
        supervisor.check()
        time.sleep(0.05)


def test_a_crashed_child_is_started_again_with_one_line(
    supervisor: Supervisor, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = supervisor.add(
        Child("worker", program(tmp_path, "import time; time.sleep(60)"), tmp_path / "log")
    )
    assert child.process is not None
    first = child.process.pid
    child.process.kill()
    check_until(supervisor, lambda: child.process is not None and child.process.pid != first)
    assert capsys.readouterr().out == (
        f"worker ended (signal SIGKILL); starting it again in 0.2 s. Its log: {tmp_path / 'log'}\n"
    )


def test_three_quick_crashes_give_up_and_name_the_log(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.add(Child("web", program(tmp_path, "raise SystemExit(9)"), tmp_path / "log"))
    with pytest.raises(KeepsCrashing, match=r"web ended 3 times within a minute \(last: code 9\)") as raised:
        check_until(supervisor, lambda: False)
    assert str(tmp_path / "log") in str(raised.value)


def test_a_child_that_does_not_stop_is_killed(supervisor: Supervisor, tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    child = supervisor.add(Child("web", program(tmp_path, code), tmp_path / "log", seconds=0.3))
    assert child.process is not None
    process = psutil.Process(child.process.pid)
    check_until(supervisor, lambda: (tmp_path / "log").read_text() == "up\n")
    supervisor.stop()
    assert not process.is_running()


def test_a_watchdog_that_was_killed_is_replaced(supervisor: Supervisor, tmp_path: Path) -> None:
    supervisor.add(Child("web", program(tmp_path, "import time; time.sleep(60)"), tmp_path / "log"))
    watchdog = supervisor._watchdog
    watchdog.kill()
    check_until(supervisor, lambda: supervisor._watchdog is not watchdog)
    assert supervisor._watchdog.poll() is None


SUPERVISED = """
import signal, sys, time
from pathlib import Path
from reviewqueue.up.children import spawn
from reviewqueue.up.supervisor import Child, Supervisor

BUSY = '''
import os, signal, sys, time
from reviewqueue.processes import die_with_parent
os.fork()
die_with_parent()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("busy", flush=True)
time.sleep(60)
'''
log = Path(sys.argv[1])
supervisor = Supervisor()
for name in ("web", "worker"):
    start = lambda: spawn([sys.executable, "-c", BUSY], log=log, death_signal=signal.SIGTERM, cwd=Path.cwd())
    supervisor.add(Child(name, start, log))
while True:
    supervisor.check()
    time.sleep(0.1)
"""


def test_a_supervisor_that_is_killed_leaves_nothing_after_five_seconds(tmp_path: Path) -> None:
    log = tmp_path / "log"
    environment = os.environ | {"REVIEWQUEUE_DIE_WITH_PARENT": "1"}
    killed = subprocess.Popen([sys.executable, "-c", SUPERVISED, str(log)], env=environment)
    deadline = time.monotonic() + 10
    while not log.exists() or log.read_text().count("busy") < 4:
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    family = psutil.Process(killed.pid).children(recursive=True)
    assert len(family) == 5  # two busy programs with a child each, and the watchdog

    killed.kill()
    killed.wait()
    assert psutil.wait_procs(family, timeout=5)[1] == []
