"""Replay honest orchestrators against the configured database and print the figures as one JSON line."""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import sys
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.honest", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="of 28 handoffs (default: 10)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
    import django

    django.setup()
    logging.disable(logging.INFO)
    from django.conf import settings

    from checkpoints.types import COMMAND_LINE
    from reviewqueue.models import Role
    from reviewqueue.services.accounts import create_account
    from reviewqueue.services.keys import create_key
    from tools.honest.replay import replay

    create_key(path=Path(settings.TICKET_KEY_FILE))
    name, password = f"replay-{secrets.token_hex(4)}", secrets.token_urlsafe(18)
    reviewer = create_account(username=name, role=Role.SENIOR_OPERATOR, password=password, actor=COMMAND_LINE)
    week = replay(rounds=options.rounds, reviewer=reviewer)
    sys.stdout.write(json.dumps({"name": "honest_week", **week.figures(), "stopped": week.stopped}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
