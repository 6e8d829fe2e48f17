"""HTTP as an orchestrator and as a browser speak it, over connections that die."""

from __future__ import annotations

import html
import http.client
import json
import random
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode

from tools.chaos.journal import Journal

TIMEOUT_SECONDS = 8.0


class Lost(Exception):
    """No answer: whether the request was carried out is unknown."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case; Set-Cookie joined by newlines
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Caller(Protocol):
    """One request to the product. Raises Lost."""

    def __call__(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer: ...


class Http:
    """Each request goes to one of the web processes, chosen at random, over a connection of its own."""

    def __init__(self, ports: Sequence[int], seed: str) -> None:
        self.ports, self.random = ports, random.Random(seed)

    def __call__(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.random.choice(self.ports), timeout=TIMEOUT_SECONDS
        )
        try:
            connection.request(method, path, body, dict(headers))
            found = connection.getresponse()
            content = found.read()
            return Answer(found.status, joined(found.getheaders()), content)
        except (OSError, http.client.HTTPException) as error:
            raise Lost(f"{method} {path}: {error!r}") from error
        finally:
            connection.close()


def joined(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Headers by lower-case name; repeated ones joined by newlines."""
    found: dict[str, str] = {}
    for name, value in headers:
        key = name.lower()
        found[key] = f"{found[key]}\n{value}" if key in found else value
    return found


class Stage:
    """Where a run stands, for all of its threads."""

    def __init__(self) -> None:
        self.over = threading.Event()  # nothing new is begun
        self.patience_ends = float("inf")  # monotonic; unanswered requests are given up then

    def close(self, patience: float) -> None:
        self.patience_ends = time.monotonic() + patience
        self.over.set()

    def pause(self, seconds: float) -> None:
        """Sleep, but not beyond the end."""
        self.over.wait(seconds)


@dataclass
class Api:
    """An orchestrator's calls. Answers of the 5xx kind mean as little as none, so both are repeated."""

    caller: Caller
    token: str
    journal: Journal
    stage: Stage = field(default_factory=Stage)

    def once(
        self, method: str, path: str, body: bytes | Mapping[str, Any] | None = None, **headers: str
    ) -> Answer:
        """One try. Raises Lost."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.token}"}
        if data is not None:
            given["Content-Type"] = "application/json"
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.caller(method, path, data, given)
        note_if_broken(self.journal, method, path, answer)
        return answer

    def insist(
        self, method: str, path: str, body: bytes | Mapping[str, Any] | None = None, **headers: str
    ) -> Answer | None:
        """The same request until it is answered for certain; None where patience ended first."""
        while time.monotonic() < self.stage.patience_ends:
            try:
                answer = self.once(method, path, body, **headers)
                if answer.status < 500 and answer.status != 429:
                    return answer
            except Lost:
                pass
            time.sleep(0.1)
        return None


def note_if_broken(journal: Journal, method: str, path: str, answer: Answer) -> None:
    """A server that is away says 503; a 500 is a fault of the product, whatever was done to it."""
    if answer.status >= 500:
        journal.append(
            "away" if answer.status == 503 else "broken",
            method=method,
            path=path,
            status=answer.status,
            body=answer.body[:300].decode(errors="replace"),
        )


class Browser:
    """A person's session: cookies, forms, no scripts. Redirects are answers."""

    def __init__(self, caller: Caller, journal: Journal) -> None:
        self.caller, self.journal = caller, journal
        self.cookies: dict[str, str] = {}

    def get(self, path: str) -> Answer:
        return self._send("GET", path, None)

    def post(self, path: str, fields: Mapping[str, str], *, page: Answer) -> Answer:
        """Send a form that stands on `page`, with the page's CSRF token. Raises Lost."""
        token = value_of(page, "csrfmiddlewaretoken") or ""
        return self._send("POST", path, urlencode({**fields, "csrfmiddlewaretoken": token}).encode())

    def sign_in(self, username: str, password: str) -> bool:
        page = self.get("/accounts/login/")
        answer = self.post("/accounts/login/", {"login": username, "password": password}, page=page)
        return answer.status == 302

    def _send(self, method: str, path: str, body: bytes | None) -> Answer:
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        answer = self.caller(method, path, body, headers)
        for line in filter(None, answer.headers.get("set-cookie", "").split("\n")):
            name, _, value = line.split(";")[0].partition("=")
            self.cookies[name.strip()] = value
        note_if_broken(self.journal, method, path, answer)
        return answer


def value_of(page: Answer, name: str) -> str | None:
    """The value of a hidden field, as a browser would send it."""
    found = re.search(rf'name="{re.escape(name)}" value="([^"]*)"', page.body.decode(errors="replace"))
    return html.unescape(found[1]) if found else None


def text_of(page: Answer, name: str) -> str | None:
    """The content of a text area."""
    pattern = rf'<textarea[^>]* name="{re.escape(name)}"[^>]*>(.*?)</textarea>'
    found = re.search(pattern, page.body.decode(errors="replace"), flags=re.DOTALL)
    return html.unescape(found[1]) if found else None


def names_of(page: Answer, prefix: str) -> list[str]:
    """The names of the fields that start with `prefix`, each once."""
    found = re.findall(rf'name="({re.escape(prefix)}[^"]*)"', page.body.decode(errors="replace"))
    return list(dict.fromkeys(html.unescape(name) for name in found))
