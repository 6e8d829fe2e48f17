"""Holds every answer that a test gets against what the OpenAPI file says of it."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs

from checkpoints.api.openapi import document


@cache
def specification() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(document())
    return found


@cache
def _templates() -> list[tuple[re.Pattern[str], str]]:
    # The name of a format holds a slash.
    return [
        (
            re.compile(
                re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(path)).replace("schemas/[^/]+", "schemas/.+")
            ),
            path,
        )
        for path in sorted(specification()["paths"])
    ]


@cache
def _validator(schema: str) -> Any:
    whole = {**json.loads(schema), "components": specification()["components"]}
    return jsonschema_rs.validator_for(whole)


def operation(method: str, path: str) -> dict[str, Any] | None:
    """What the file says of a method at an address; None where it knows neither."""
    bare = path.partition("?")[0]
    for pattern, template in _templates():
        if pattern.fullmatch(bare):
            found: dict[str, Any] | None = specification()["paths"][template].get(method.lower())
            return found
    return None


def conforming(method: str, path: str, response: Any) -> Any:
    """The response, after its status, media type and body were found in the file."""
    said = operation(method, path)
    if said is None:
        return response
    answer = said["responses"].get(str(response.status_code))
    assert answer is not None, f"{method} {path}: status {response.status_code} is not documented"
    content = answer.get("content")
    if content is None:
        assert response.content == b"", f"{method} {path}: a body where none is documented"
        return response
    media_type = response.headers["Content-Type"].partition(";")[0]
    assert media_type in content, (
        f"{method} {path}: {media_type} is not documented for {response.status_code}"
    )
    if media_type.endswith("json"):
        errors = _validator(json.dumps(content[media_type]["schema"])).iter_errors(
            json.loads(response.content)
        )
        faults = [f"{error.instance_path}: {error.message}" for error in errors]
        assert not faults, f"{method} {path}: {faults[:5]}"
    return response
