"""How views describe themselves, and the OpenAPI 3.1 file that comes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import orjson
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from checkpoints.api import documents
from checkpoints.api.documents import ref
from checkpoints.api.problems import CONTENT_TYPE, TYPES
from checkpoints.types import JSONObject

JSON: Final = "application/json"
# What any address may answer, and what those that need a token may answer besides.
ALWAYS: Final = (
    "invalid-parameter",
    "not-acceptable",
    "headers-too-large",
    "internal-error",
    "storage-unavailable",
)
WITH_TOKEN: Final = ("unauthenticated", "insufficient-scope")
WITH_BODY: Final = (
    "malformed-json",
    "invalid-utf8",
    "payload-too-large",
    "unsupported-media-type",
    "unsupported-charset",
    "unsupported-encoding",
    "json-limits",
    "duplicate-key",
    "forbidden-character",
    "number-out-of-range",
    "not-an-object",
    "invalid-body",
)


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Names our token scheme in the file."""

    target_class = "checkpoints.api.endpoint.BearerToken"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "A token of the form rq_…, made by create_token.",
        }


def described(
    name: str,
    summary: str,
    answers: Mapping[int | tuple[int, str], JSONObject | None],
    *,
    tag: str,
    scope: str | None = "",
    body: JSONObject | None = None,
    problems: Sequence[str] = (),
    parameters: Sequence[OpenApiParameter] = (),
    media_type: str | Sequence[str] = JSON,
) -> Callable[[Any], Any]:
    """Describe one method of a view, its answers by status or by (status, media type), its problems by slug.

    `scope` "" needs no token, None takes any token.
    """
    slugs = [*ALWAYS, *problems]
    if scope != "":
        slugs += WITH_TOKEN if scope else WITH_TOKEN[:1]
    if body is not None:
        slugs += WITH_BODY
    types = (media_type,) if isinstance(media_type, str) else tuple(media_type)
    responses: dict[Any, Any] = {
        key if isinstance(key, tuple) else (key, *types) if schema is not None else key: OpenApiResponse(
            schema, description=_DESCRIPTIONS.get(key, "Done")
        )
        for key, schema in answers.items()
    }
    responses |= _problem_responses(slugs)
    return extend_schema(
        operation_id=name,
        summary=summary,
        tags=[tag],
        request={JSON: body} if body is not None else None,
        responses=responses,
        parameters=list(parameters),
        auth=[] if scope == "" else None,
        extensions={"x-scope": scope} if scope else None,
    )


def query(name: str, what: str, schema: JSONObject | None = None, *, many: bool = False) -> OpenApiParameter:
    """One query parameter; with `many` it may stand repeatedly."""
    one: JSONObject = schema or {"type": "string"}
    whole: Any = {"type": "array", "items": one} if many else one
    return OpenApiParameter(
        name, whole, OpenApiParameter.QUERY, description=what, explode=True if many else None
    )


def header(name: str, what: str) -> OpenApiParameter:
    return OpenApiParameter(name, {"type": "string"}, OpenApiParameter.HEADER, description=what)


PAGING: Final = (
    query("cursor", "Where the page begins: take it from `next` or `previous`."),
    query("page_size", "Rows on a page.", {"type": "integer", "minimum": 1, "maximum": 200}),
)
WAIT: Final = header(
    "Prefer",
    "`wait=N` holds the answer up to N seconds (above 60 counts as 60); Preference-Applied echoes it.",
)
_DESCRIPTIONS: Final[dict[Any, str]] = {
    201: "Stored",
    304: "The representation that the caller holds is the current one",
}


@cache
def document() -> bytes:
    """The OpenAPI file as JSON, the same bytes for the life of the process."""
    generator = SchemaGenerator(urlconf="checkpoints.api.urls")  # type: ignore[no-untyped-call]
    found = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return orjson.dumps(found, option=orjson.OPT_INDENT_2)


def add_components(result: Any, **_: Any) -> Any:
    """A hook of the generator: the schemas that the answers refer to, and the promise about errors."""
    result.setdefault("components", {}).setdefault("schemas", {}).update(documents.COMPONENTS)
    return result


def _problem_responses(slugs: Sequence[str]) -> dict[Any, Any]:
    by_status: dict[int, list[str]] = {}
    for slug in slugs:
        by_status.setdefault(TYPES[slug].status, []).append(slug)
    return {
        (status, CONTENT_TYPE): OpenApiResponse(
            ref("Problem"), description=", ".join(f"`{slug}`" for slug in dict.fromkeys(names))
        )
        for status, names in sorted(by_status.items())
    }
