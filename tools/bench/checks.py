"""The checks alone, in one thread: by size, and by number of steps with the ratio from each decade to the next."""

from __future__ import annotations

import statistics
import time
from datetime import UTC, datetime

from checkpoints.checks import tokens
from checkpoints.formats import admit
from checkpoints.policies import DEFAULT_POLICY, judge
from checkpoints.types import CheckContext, Limits
from tools.bench.documents import of_size, sealed, with_steps
from tools.bench.figures import show

SIZES = (4096, 65_536)
STEPS = (10, 100, 1000, 10_000)
FEWEST, MOST = 3, 400
#: The largest document is larger than a post may be.
WIDE = Limits(body_bytes=1 << 24, values=10_000_000)


def measure(seconds: float) -> None:
    """Print medians in microseconds of processor time."""
    for size in SIZES:
        body = sealed(of_size(size))
        gate, judging = medians(body, seconds)
        show("checks", judging, "us", bytes=len(body))
        show("admission", gate, "us", bytes=len(body))
    before: float | None = None
    for count in STEPS:
        body = sealed(with_steps(count))
        _, judging = medians(body, seconds)
        grown = {} if before is None else {"ratio_to_a_tenth": judging / before}
        show("checks_by_steps", judging, "us", steps=count, bytes=len(body), **grown)
        before = judging


def medians(body: bytes, seconds: float) -> tuple[float, float]:
    """(admission, checks) in microseconds: the median of as many runs as fit into `seconds`, three at least."""
    gates: list[float] = []
    runs: list[float] = []
    ends = time.monotonic() + seconds
    while len(runs) < FEWEST or (time.monotonic() < ends and len(runs) < MOST):
        started = time.thread_time()
        submission = admit(body, WIDE)
        admitted = time.thread_time()
        context = CheckContext(
            received_at=datetime.now(UTC),
            policy=DEFAULT_POLICY,
            checkpoint_id=submission.checkpoint_id or "",
            handoff_sequence=1,
            count_tokens=tokens.load(),
        )
        began = time.thread_time()
        if not judge(submission, context).complete:
            raise RuntimeError("A check did not run to its end.")
        runs.append((time.thread_time() - began) * 1e6)
        gates.append((admitted - started) * 1e6)
    return statistics.median(gates), statistics.median(runs)
