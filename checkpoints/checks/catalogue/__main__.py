"""`python -m checkpoints.checks.catalogue` prints docs/checks.md."""

import sys

from checkpoints.checks.catalogue.document import markdown

sys.stdout.write(markdown())
