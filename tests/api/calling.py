"""Calling the API as an orchestrator would, without a server in between."""

from __future__ import annotations

import json
from typing import Any

from django.test import Client

from checkpoints.models import Handoff, Orchestrator
from checkpoints.services import tokens
from checkpoints.services.verification import drain
from checkpoints.types import Actor
from tests import characters
from tests.api.conformance import conforming

CLI = Actor(kind="system", id="system:test", label="Test")
JSON = "application/json"


class Api:
    """One orchestrator's client. Without `scopes` its token has all of them."""

    def __init__(self, owner: Orchestrator | None = None, *scopes: str) -> None:
        self.owner = owner or characters.orchestrator()
        self.token, _ = tokens.create_token(orchestrator_name=self.owner.name, scopes=scopes, actor=CLI)
        self.client = Client(headers={"Authorization": f"Bearer {self.token}"})

    def get(self, path: str, **headers: str) -> Any:
        return conforming("GET", path, self.client.get(path, headers=_headers(headers)))

    def post(self, path: str, body: Any = None, *, content_type: str = JSON, **headers: str) -> Any:
        data = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        # `generic` sends bytes as they are; the header is given even where the body is empty.
        response = self.client.generic(
            "POST",
            path,
            data,
            content_type=content_type,
            headers=_headers(headers),
            CONTENT_TYPE=content_type,
        )
        return conforming("POST", path, response)

    def submit(self, body: Any, **headers: str) -> Any:
        return self.post("/api/v1/checkpoints", body, **headers)

    def submitted(self, body: Any | None = None, **changes: Any) -> dict[str, Any]:
        """A stored and judged checkpoint, as its resource."""
        response = self.submit(characters.document(**changes) if body is None else body)
        assert response.status_code == 201, response.content
        drain()
        return self.handoff(response.json()["checkpoint_id"])

    def handoff(self, checkpoint_id: str) -> dict[str, Any]:
        response = self.get(f"/api/v1/handoffs/{checkpoint_id}")
        assert response.status_code == 200, response.content
        found: dict[str, Any] = response.json()
        return found

    def verb(self, checkpoint_id: str, name: str, body: Any = None, **headers: str) -> Any:
        return self.post(f"/api/v1/handoffs/{checkpoint_id}/{name}", body, **headers)

    def count(self) -> int:
        return Handoff.objects.filter(orchestrator=self.owner).count()


def _headers(given: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in given.items()}


def problem(response: Any, status: int, slug: str) -> dict[str, Any]:
    """The problem document of a refusal that has exactly this status and type."""
    assert (response.status_code, response.headers["Content-Type"]) == (status, "application/problem+json"), (
        response.status_code,
        response.content[:500],
    )
    found: dict[str, Any] = response.json()
    assert (found["type"], found["status"]) == (f"/problems/{slug}", status), found
    assert found["title"]
    assert found["detail"]
    assert found["request_id"] == response.headers["X-Request-ID"]
    return found
