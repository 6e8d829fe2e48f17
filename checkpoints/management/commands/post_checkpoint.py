"""Post checkpoint files through the HTTP API, as an orchestrator would."""

from __future__ import annotations

import http.client
import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from checkpoints.management.answering import Answer, AnsweringCommand, Failed
from checkpoints.types import JSONObject, JSONValue

REFUSED = 2
UNJUDGED = 3


class Command(AnsweringCommand):
    help = (
        "Post each FILE (- is standard input) to POST /api/v1/checkpoints and print its verdict. Without --url the "
        "running demo server of DATA_DIR/demo.json is used; the token may also come from REVIEWQUEUE_TOKEN. "
        "Exit codes: 0 all stored and judged, 2 at least one was refused, 3 all stored but a verdict is still "
        "missing, 1 the server could not be asked."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--url", help="base URL of the server, for example http://127.0.0.1:8000")
        parser.add_argument("--token", help="a token with the scope checkpoints:write")
        parser.add_argument("--wait", type=int, default=10, help="seconds to wait for each verdict (0 to 60)")

    def answer(self, options: dict[str, Any]) -> Answer:
        url, token = _server(options["url"], options["token"] or os.environ.get("REVIEWQUEUE_TOKEN"))
        results, lines, code = [], [], 0
        for file in options["files"]:
            status, found = _post(f"{url}/api/v1/checkpoints", token, _read(file), options["wait"])
            lines.append(f"{file}: {status} {_line(status, found)}")
            results.append({"file": file, "status": status, **_result(status, found)})
            code = max(code, _code(status, found), key=lambda item: (item == REFUSED, item))
        return Answer("\n".join(lines), {"results": [*results]}, code)


def _server(url: str | None, token: str | None) -> tuple[str, str]:
    """The address and token to use. Raises Failed where one of them is not known."""
    if url:
        if not token:
            raise Failed("Give --token (or REVIEWQUEUE_TOKEN) with --url.")
        if not url.startswith(("http://", "https://")):
            raise Failed(f"--url is {url!r}: it must begin with http:// or https://.")
        return url.rstrip("/"), token
    file = settings.DATA_DIR / "demo.json"
    try:
        demo = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Failed(f"There is no {file}. Start `make run` first, or give --url and --token.") from None
    return demo["base_url"], token or demo["token"]


def _read(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise Failed(f"{file} cannot be read: {error.strerror}. Files before it were posted.") from error


def _post(url: str, token: str, body: bytes, wait: int) -> tuple[int, JSONObject]:
    """Status and JSON of the answer, a problem too. Raises Failed where there is none."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Prefer": f"wait={wait}",
    }
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310 - scheme checked
    try:
        with urllib.request.urlopen(request, timeout=wait + 30) as answer:  # noqa: S310 - scheme checked
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        try:
            return error.code, json.load(error)
        except ValueError:
            raise Failed(f"{url} answered {error.code} without a problem document.") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Failed(f"{url} does not answer: {error}.") from error


def _line(status: int, found: JSONObject) -> str:
    if status >= 400:
        return f"{found.get('title', 'refused')}: {found.get('detail', '')}"
    verdict, names = (
        found.get("verdict"),
        f"{found['session_id']} {found['handoff_sequence']} {found['checkpoint_id']}",
    )
    if not isinstance(verdict, dict):
        return f"{names} {found['state']}, no verdict yet"
    reasons, findings = verdict["reasons"], found["findings"]
    said = f"{verdict['outcome']}" + (
        f" ({', '.join(str(item) for item in _list(reasons))})" if reasons else ""
    )
    codes = [f"{item['code']} {item['severity']}" for item in _list(findings) if isinstance(item, dict)]
    return " ".join([names, said, *([f"[{', '.join(codes)}]"] if codes else [])])


def _list(value: JSONValue) -> list[JSONValue]:
    return value if isinstance(value, list) else []


def _result(status: int, found: JSONObject) -> JSONObject:
    return {"problem": found} if status >= 400 else {"handoff": found}


def _code(status: int, found: JSONObject) -> int:
    if status >= 400:
        return REFUSED
    return 0 if found.get("verdict") else UNJUDGED
