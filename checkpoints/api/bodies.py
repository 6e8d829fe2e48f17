"""Reading a request's body: its type, its size, its bytes, and for small bodies its members."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import jsonschema_rs
import orjson
from django.conf import settings
from django.http import HttpRequest

from checkpoints.canonical import parse
from checkpoints.errors import InvalidInput, ProblemError, Refused
from checkpoints.types import JSONObject, Limits

_UTF8: Final = frozenset({"utf-8", "utf8"})


def limits(*, body_bytes: int | None = None) -> Limits:
    """The limits of contract §3 as the settings have them."""
    return Limits(
        body_bytes=body_bytes or settings.BODY_BYTES, depth=settings.BODY_DEPTH, values=settings.BODY_VALUES
    )


def read(request: HttpRequest, *, limit: int) -> bytes:
    """The bytes of a JSON body. Raises Refused (415, 413, or 400 where the caller stopped half-way)."""
    _judge_type(request)
    length = _declared_length(request)
    if length is not None and length > limit:
        raise _too_large(limit)
    body = _read_at_most(request, limit + 1 if length is None else length)
    if length is None and len(body) > limit:
        raise _too_large(limit)
    if length is not None and len(body) < length:
        raise Refused(
            f"The body ended after {len(body)} of {length} bytes. Send it again.",
            slug="malformed-json",
            status=400,
            keep=False,
        )
    return body


def members(request: HttpRequest, schema: JSONObject, *, optional: bool = False) -> JSONObject:
    """A small body, read strictly and judged by its JSON Schema.

    Raises Refused (400, 413, 415, 422) for bytes and InvalidInput (422 `invalid-body`) with a pointer per fault.
    With `optional`, no body at all reads as {}.
    """
    if optional and _declared_length(request) == 0:
        return {}
    body = read(request, limit=settings.BODY_BYTES)
    if optional and not body:
        return {}
    value = parse(body, limits())
    _judge_members(value, schema)
    return value


def _judge_members(value: JSONObject, schema: JSONObject) -> None:
    errors: list[ProblemError] = []
    for error in _validator(orjson.dumps(schema)).iter_errors(value):
        errors.extend(_shown(error))
    errors.extend(_fractions(value, schema))
    if errors:
        raise InvalidInput(
            "The body does not fit this address. " + " ".join(error.detail for error in errors[:3]),
            slug="invalid-body",
            errors=errors[:50],
        )


@cache
def _validator(schema: bytes) -> Any:
    # Masked: an answer does not repeat what it was sent.
    return jsonschema_rs.validator_for(orjson.loads(schema), mask="This value")


def _shown(error: Any) -> Iterator[ProblemError]:
    place = "".join("/" + _token(item) for item in error.instance_path)
    code = str(error.kind.name)
    if code == "additionalProperties":
        for name in error.kind.unexpected:
            yield ProblemError(
                f"{place}/{_token(name)}", code, f"The member {name[:64]!r} is unknown here. Remove it."
            )
    elif code == "required":
        name = error.kind.property
        yield ProblemError(f"{place}/{_token(name)}", code, f"The member {name} is missing. Send it.")
    else:
        yield ProblemError(place, code, f"At {place or 'the top'}: {error.message}.")


def _fractions(value: JSONObject, schema: JSONObject) -> Iterator[ProblemError]:
    """JSON Schema takes 1.0 for an integer; a number of ours is written without a point."""
    properties = schema["properties"]
    for name, item in value.items():
        member = properties.get(name) if isinstance(properties, dict) else None
        if isinstance(item, float) and isinstance(member, dict) and member.get("type") == "integer":
            yield ProblemError(
                f"/{name}", "type", f"{name} is written with a point or exponent. Send an integer."
            )


def _token(name: object) -> str:
    return str(name)[:64].replace("~", "~0").replace("/", "~1")


def _judge_type(request: HttpRequest) -> None:
    media_type, *parameters = request.META.get("CONTENT_TYPE", "").split(";")
    if media_type.strip().lower() != "application/json":
        raise _unsupported("unsupported-media-type", "Send the body with `Content-Type: application/json`.")
    for parameter in parameters:
        name, _, value = parameter.strip().partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in _UTF8:
            raise _unsupported("unsupported-charset", "Send the body in UTF-8.")
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if encoding not in ("", "identity"):
        raise _unsupported("unsupported-encoding", "Send the body uncompressed, without Content-Encoding.")


def _unsupported(slug: str, detail: str) -> Refused:
    return Refused(detail, slug=slug, status=415, keep=False)


def _too_large(limit: int) -> Refused:
    detail = (
        f"The body has more than {limit} bytes. Send references to large contents instead of the contents."
    )
    return Refused(
        detail,
        slug="payload-too-large",
        status=413,
        errors=[ProblemError("", "RAW-6", detail)],
        keep=False,
    )


def _declared_length(request: HttpRequest) -> int | None:
    """Content-Length; None for a chunked body, whose length nobody knows before its end."""
    if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
        return None
    given = request.META.get("CONTENT_LENGTH") or "0"
    return int(given) if given.isascii() and given.isdigit() else 0


def _read_at_most(request: HttpRequest, size: int) -> bytes:
    """Up to `size` bytes from the server's stream: Django's own wrapper knows no chunked bodies."""
    stream = request.META["wsgi.input"]
    pieces = []
    while size > 0 and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
