"""What orchestrators that tell the truth hear in their first week: how many were stopped, findings per document."""

from __future__ import annotations

import subprocess
import sys

from reviewqueue.up.state import ROOT
from tools.bench.machine import Machine


def measure(machine: Machine, _: float) -> None:
    """Print one line: 280 handoffs of seven orchestrators. Goals: none stopped, median 0, 95th percentile 2."""
    command = [sys.executable, "-m", "tools.honest", "--rounds", "10"]
    done = subprocess.run(command, env=machine.environment(), cwd=ROOT, check=True, stdout=subprocess.PIPE)
    sys.stdout.write(done.stdout.decode())
    sys.stdout.flush()
