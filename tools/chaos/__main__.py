"""python -m tools.chaos [--seconds 60] [--broker-away 15] [--seed N] [--json]

Runs the real product under faults and judges it from outside. Exit code 0: every promise kept; 1: one was not, or a
crash point was never hit; 2: wrong use.
"""

from __future__ import annotations

import argparse
import json
import secrets
import signal
import sys
from types import FrameType
from typing import NoReturn

from tools.chaos.run import run


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--seconds", type=float, default=60, help="how long faults happen (default: %(default)s)"
    )
    parser.add_argument(
        "--broker-away",
        type=float,
        default=15,
        metavar="SECONDS",
        help="how long there is no broker after that, 0 for not at all (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=None, help="of an earlier run, to break the same things again"
    )
    parser.add_argument("--json", action="store_true", help="only the JSON summary on standard output")
    options = parser.parse_args()
    if options.seconds <= 0 or options.broker_away < 0:
        parser.error("--seconds must be more than 0, --broker-away not less than 0")
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGHUP, _stop)
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed

    def say(text: str) -> None:
        if not options.json:
            print(text, flush=True)

    outcome = run(seed=str(seed), seconds=options.seconds, broker_away=options.broker_away, say=say)
    print(json.dumps(outcome.summary), flush=True)
    return 0 if outcome.kept else 1


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("Stopped. Everything that was started has ended.", file=sys.stderr)
        sys.exit(130)
