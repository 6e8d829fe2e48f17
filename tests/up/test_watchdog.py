"""What the watchdog ends when its pipe closes."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil

from reviewqueue.up import watchdog

# Ignores the polite signals, and its own child does so too.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) == 1:
    subprocess.Popen([sys.executable, "-c", os.environ["CODE"], "child"])
print("up", flush=True)
time.sleep(60)
"""


def test_groups_that_ended_before_are_forgotten() -> None:
    assert watchdog.groups_left(["+10 1.0\n", "+11 3.0\n", "-10\n"]) == {11: 3.0}


def test_a_group_that_ignores_polite_signals_is_killed_with_all_its_children() -> None:
    stubborn = subprocess.Popen(
        [sys.executable, "-c", STUBBORN],
        env=os.environ | {"CODE": STUBBORN},
        process_group=0,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert stubborn.stdout is not None
    assert [stubborn.stdout.readline(), stubborn.stdout.readline()] == ["up\n", "up\n"]
    family = [psutil.Process(stubborn.pid), *psutil.Process(stubborn.pid).children(recursive=True)]
    assert len(family) == 2

    program = subprocess.Popen(
        [sys.executable, "-S", "-E", watchdog.__file__], stdin=subprocess.PIPE, text=True
    )
    program.communicate(f"+{stubborn.pid} 0.3\n", timeout=5)  # closes the pipe, as our death would

    stubborn.wait(2)
    stubborn.stdout.close()
    assert not psutil.wait_procs(family, timeout=2)[1]


def test_a_group_that_ends_in_time_is_left_to_do_so() -> None:
    polite = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.4)"], process_group=0)
    began = time.monotonic()
    program = subprocess.Popen(
        [sys.executable, "-S", "-E", watchdog.__file__], stdin=subprocess.PIPE, text=True
    )
    assert program.stdin is not None
    program.stdin.write(f"+{polite.pid} 5\n")
    program.stdin.close()
    assert polite.wait(5) == 0
    program.wait(5)
    assert time.monotonic() - began < 4
