"""Calling our commands as a shell would see them."""

from __future__ import annotations

import io
import json
from typing import Any

from django.core.management import call_command


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        call_command(*arguments, stdout=out, stderr=err)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, out.getvalue(), err.getvalue()


def run_json(*arguments: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = run(*arguments, "--json")
    return code, json.loads(out)
