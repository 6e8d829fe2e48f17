"""Checks the interpreter before anything that an older one cannot read is imported."""

from __future__ import annotations

import sys

if sys.version_info < (3, 12):  # noqa: UP036 - the point of this line is to be read by an older one
    found = ".".join(str(part) for part in sys.version_info[:3])
    sys.stderr.write(
        f"Python {found} is too old: Review Queue needs 3.12 or newer. Start it with `make run`.\n"
    )
    sys.exit(5)

from reviewqueue.up.start import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
