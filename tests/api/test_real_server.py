"""The API behind the real web server: bytes on the wire that no test client can send."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings

from checkpoints.services import tokens
from checkpoints.services.verification import drain
from tests import characters
from tests.api.calling import CLI
from tests.stack import Stack, stack

pytestmark = pytest.mark.xdist_group("real-server")


@pytest.fixture(scope="module")
def web(
    server_environment: dict[str, str],
    django_db_setup: None,
    django_db_blocker: Any,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Stack]:
    with django_db_blocker.unblock():
        text, _ = tokens.create_token(orchestrator_name=characters.fresh("orchestrator"), actor=CLI)
    with stack(server_environment, tmp_path_factory.mktemp("logs"), "web", token=text) as found:
        yield found


class Wire:
    """One connection and the bytes that went over it."""

    def __init__(self, web: Stack) -> None:
        self.web = web
        self.socket = socket.create_connection(("127.0.0.1", web.port), timeout=20)

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.socket.sendall(piece)

    def head(self, path: str = "/api/v1/checkpoints", method: str = "POST", **headers: str) -> bytes:
        lines = {
            "Host": f"127.0.0.1:{self.web.port}",
            "Authorization": f"Bearer {self.web.token}",
            "Content-Type": "application/json",
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode("latin-1")

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """(status, headers in lower case, body) of one response; status 0 where the server only closed."""
        received = b""
        while b"\r\n\r\n" not in received:
            piece = self.socket.recv(65_536)
            if not piece:
                return 0, {}, received
            received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        while len(body) < length:
            piece = self.socket.recv(65_536)
            if not piece:
                break
            body += piece
        return int(first.split()[1]), headers, body

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def wire(web: Stack, db: None) -> Iterator[Wire]:
    found = Wire(web)
    yield found
    found.close()


def chunked(body: bytes, size: int = 1000) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def is_problem(answer: tuple[int, dict[str, str], bytes], status: int, slug: str) -> dict[str, Any]:
    assert (answer[0], answer[1]["content-type"]) == (status, "application/problem+json"), answer
    found: dict[str, Any] = json.loads(answer[2])
    assert found["type"] == f"/problems/{slug}"
    return found


def still_works(web: Stack) -> bool:
    return web.post(characters.document()).status == 201


def test_a_chunked_body_is_stored_to_the_byte(wire: Wire) -> None:
    document = characters.document()
    body = json.dumps(document).encode()
    wire.send(wire.head(Transfer_Encoding="chunked"), chunked(body, 7))
    status, headers, answer = wire.answer()
    assert (status, headers["x-content-type-options"]) == (201, "nosniff")
    name = json.loads(answer)["checkpoint_id"]
    assert wire.web.call("GET", f"/api/v1/handoffs/{name}/body").body == body


def test_a_chunked_body_that_grows_past_the_limit_is_cut_off(wire: Wire) -> None:
    body = b'{"a":"' + b"x" * settings.BODY_BYTES + b'"}'
    try:
        wire.send(wire.head(Transfer_Encoding="chunked"), chunked(body, 65_536))
    except (BrokenPipeError, ConnectionResetError):
        pytest.fail("the answer must come before the connection closes")
    is_problem(wire.answer(), 413, "payload-too-large")
    assert still_works(wire.web)


def test_a_body_that_is_announced_too_large_is_not_waited_for(wire: Wire) -> None:
    started = time.monotonic()
    wire.send(wire.head(Content_Length=str(settings.BODY_BYTES + 1)))
    is_problem(wire.answer(), 413, "payload-too-large")
    assert time.monotonic() - started < 5


def test_a_caller_that_leaves_half_way_leaves_nothing_behind(web: Stack, db: None) -> None:
    before = web.call("GET", "/api/v1/handoffs").json["results"]
    for framing in ({"Content_Length": "500"}, {"Transfer_Encoding": "chunked"}):
        wire = Wire(web)
        start = b'{"checkpoint_id": "half'
        wire.send(wire.head(**framing), start if "Content_Length" in framing else chunked(start)[:-5])
        wire.close()
    time.sleep(0.3)
    assert web.call("GET", "/api/v1/handoffs").json["results"] == before
    assert still_works(web)


def test_two_authorization_headers_are_refused(wire: Wire) -> None:
    line = f"Authorization: Bearer {wire.web.token}\r\n".encode()
    head = wire.head("/api/v1/handoffs", "GET")
    wire.send(head.replace(line, line + line))
    found = wire.answer()
    is_problem(found, 401, "unauthenticated")
    assert found[1]["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("start", "status"),
    [
        (b"GET http://evil.example/api/v1/checks HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400),
        (b"GET /api/v1/checks HTTP/1.1\r\nHost: evil.example\r\n\r\n", 400),
        (b"GET /api/v1/checks HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: " + b"a" * 65_536 + b"\r\n\r\n", 431),
        (b"TRACE /api/v1/checkpoints HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 405),
        (b"GET /api/%ff%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404),
    ],
)
def test_odd_requests_get_a_problem(web: Stack, start: bytes, status: int) -> None:
    wire = Wire(web)
    wire.send(start)
    found = wire.answer()
    wire.close()
    assert (found[0], found[1]["content-type"]) == (status, "application/problem+json")


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: x\r\n",
        b"Transfer-Encoding: nonsense\r\n",
    ],
)
def test_contradicting_lengths_never_reach_us(web: Stack, framing: bytes) -> None:
    wire = Wire(web)
    wire.send(b"POST /api/v1/checkpoints HTTP/1.1\r\nHost: 127.0.0.1\r\n" + framing + b"\r\nhello")
    status, _, body = wire.answer()
    wire.close()
    assert status in (0, 400, 401, 411, 413, 501)
    assert b"<html" not in body.lower()
    assert still_works(web)


def test_head_has_the_headers_of_get_and_no_body(web: Stack, db: None) -> None:
    name = web.post(characters.document()).json["checkpoint_id"]
    shown = web.call("GET", f"/api/v1/handoffs/{name}")
    head = web.call("HEAD", f"/api/v1/handoffs/{name}")
    assert (head.status, head.body, head.headers["etag"]) == (200, b"", shown.headers["etag"])
    unchanged = web.call("GET", f"/api/v1/handoffs/{name}", If_None_Match=shown.headers["etag"])
    assert (unchanged.status, unchanged.body) == (304, b"")


def test_a_waiting_post_is_answered_when_another_process_judges(web: Stack, db: None) -> None:
    answers: list[Any] = []
    poster = threading.Thread(
        target=lambda: answers.append(web.post(characters.document(), Prefer="wait=20"))
    )
    poster.start()
    deadline = time.monotonic() + 15
    while not answers and time.monotonic() < deadline:
        drain()
        time.sleep(0.1)
    poster.join(20)
    assert (answers[0].status, answers[0].json["state"]) == (201, "cleared")


def test_the_pages_of_the_documentation_and_their_files_are_served(web: Stack) -> None:
    page = web.call("GET", "/api/docs")
    assert page.headers["content-type"].startswith("text/html")
    for address in re.findall(r'(?:src|href)="(/static/[^"]+)"', page.body.decode()):
        assert web.call("GET", address).status == 200, address
