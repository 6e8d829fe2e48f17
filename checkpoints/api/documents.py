"""JSON Schemas of the small request bodies. The OpenAPI file shows the same ones that requests are judged by."""

from __future__ import annotations

from typing import Final

from checkpoints.types import JSONObject, JSONValue

LONGEST_TEXT: Final = 4000
ATTEMPT: Final[JSONObject] = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
DIGEST: Final[JSONObject] = {
    "type": ["string", "null"],
    "pattern": "^([sS][hH][aA]256:)?[0-9a-fA-F]{64}$",
    "description": "SHA-256 in hex, with or without `sha256:`.",
}


def _closed(required: list[JSONValue], **members: JSONValue) -> JSONObject:
    return {
        "type": "object",
        "properties": {**members},
        "required": required,
        "additionalProperties": False,
    }


def _said(least: int = 1) -> JSONObject:
    return {"type": "string", "minLength": least, "maxLength": LONGEST_TEXT}


DISPATCH: Final = _closed([])
ACK: Final = _closed(
    ["attempt"],
    attempt=ATTEMPT,
    content_digest=DIGEST,
    receiver={"type": ["string", "null"], "maxLength": 200},
)
FAIL: Final = _closed(
    ["attempt", "kind", "detail"],
    attempt=ATTEMPT,
    kind={"type": "string", "enum": ["error", "crashed", "timed_out"]},
    detail=_said(0),
)
REFUSE: Final = _closed(["attempt", "reason"], attempt=ATTEMPT, reason=_said())
CANCEL: Final = _closed(["reason"], reason=_said())
VERIFY: Final = _closed(
    ["ticket"],
    ticket={"type": "string", "maxLength": 65_536},
    audience={"type": ["string", "null"], "maxLength": 1000},
    content_digest=DIGEST,
)
