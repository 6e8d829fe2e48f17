#!/usr/bin/env python
"""Django's command line. Finds the servers of DATA_DIR when DATABASE_URL is unset (docs/running.md)."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
    from django.conf import settings
    from django.core.management import execute_from_command_line
    from django.db.utils import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except OperationalError as error:
        if settings.DATABASE_SOURCE != "none":
            sys.exit(f"The database of {settings.DATABASE_SOURCE} does not answer: {error}")
        sys.exit("No database: start `make run` in this folder first, or set DATABASE_URL.")


if __name__ == "__main__":
    main()
