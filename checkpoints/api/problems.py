"""RFC 9457 problems: the registry of their types, and how any exception becomes one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson
import structlog
from django.core.exceptions import (
    DisallowedHost,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions as drf

from checkpoints.errors import ReviewQueueError
from checkpoints.services import storage
from checkpoints.types import JSONObject, JSONValue

log = structlog.get_logger("checkpoints.api")

CONTENT_TYPE: Final = "application/problem+json"
CHALLENGE: Final = 'Bearer realm="review-queue"'


@dataclass(frozen=True, slots=True)
class ProblemType:
    """What `/problems/<slug>` says: the status, a title, what it means and what to do."""

    status: int
    title: str
    meaning: str


def _types() -> Mapping[str, ProblemType]:
    of = ProblemType
    return {
        "malformed-json": of(400, "The body is not JSON", "Correct the body and send it again."),
        "invalid-utf8": of(400, "The body is not UTF-8", "Encode the body as UTF-8 and send it again."),
        "invalid-parameter": of(
            400,
            "A parameter or header cannot be used",
            "The detail names it and says which values are allowed.",
        ),
        "unauthenticated": of(
            401,
            "No valid token",
            "Send one header `Authorization: Bearer rq_…` with a token that has neither expired nor been revoked.",
        ),
        "insufficient-scope": of(
            403, "The token lacks a scope", "Use a token that has the scope which the detail names."
        ),
        "not-found": of(
            404, "No such thing", "It does not exist, or belongs to another orchestrator. Check the address."
        ),
        "attempt-not-found": of(
            404,
            "No such attempt",
            "Nobody asked for this attempt. Ask with dispatch before sending; what was sent has been recorded.",
        ),
        "method-not-allowed": of(405, "This address knows other methods", "The header Allow lists them."),
        "not-acceptable": of(
            406, "No representation that you accept", "Send `Accept: application/json`, or no Accept header."
        ),
        "checkpoint-conflict": of(
            409,
            "This checkpoint_id stands for other bytes",
            "A stored checkpoint never changes. Send the repaired document under a new checkpoint_id and sequence.",
        ),
        "sequence-conflict": of(
            409,
            "This handoff_sequence is taken",
            "Send the document under `next_sequence`, or leave handoff_sequence out.",
        ),
        "invalid-transition": of(
            409,
            "The handoff's state does not allow this",
            "`state` is where it stands, `allowed` what can follow. Fetch it and decide anew.",
        ),
        "not-dispatchable": of(
            409,
            "The handoff cannot go out now",
            "Only what was cleared or approved goes out, not before `not_before`. `Retry-After` tells when time helps.",
        ),
        "attempt-in-flight": of(
            409,
            "An attempt is in flight",
            "Acknowledge it, report its failure, or wait until `acknowledge_by`.",
        ),
        "attempt-superseded": of(
            409,
            "A newer attempt exists or the attempt has ended",
            "Act on the newest attempt, or ask for the next.",
        ),
        "digest-mismatch": of(
            409,
            "The receiver acknowledged other content",
            "What arrived is not what was sent. A person has to look; do not retry.",
        ),
        "ticket-expired": of(
            409,
            "The approval is too old",
            "The handoff waits in the review queue again. Wait for the decision.",
        ),
        "ticket-content-mismatch": of(
            409,
            "The approval speaks of other content",
            "Nothing was sent; the handoff waits in the review queue again.",
        ),
        "payload-too-large": of(
            413, "The body is too large", "Send references to large contents instead of the contents."
        ),
        "unsupported-media-type": of(
            415, "The body's type is not known here", "Send `Content-Type: application/json`."
        ),
        "unsupported-charset": of(415, "The body's charset is not known here", "Send UTF-8."),
        "unsupported-encoding": of(415, "The body is compressed", "Send the body without Content-Encoding."),
        "identity-invalid": of(
            422,
            "The document cannot be named",
            "Correct session_id, checkpoint_id or handoff_sequence as `errors` says.",
        ),
        "identity-mismatch": of(
            422,
            "Envelope and payload name different things",
            "Send the same names in both, or in one of them only.",
        ),
        "unknown-format": of(
            422, "The format is unknown", "Send one of the known formats, or leave format out."
        ),
        "json-limits": of(
            422,
            "The document is too deep or has too many values",
            "Send references to large contents instead.",
        ),
        "duplicate-key": of(422, "A member name stands twice", "Send each member of an object once."),
        "forbidden-character": of(
            422, "A text holds a character that cannot be stored", "Remove U+0000 and lone surrogates."
        ),
        "number-out-of-range": of(
            422, "A number cannot be read alike by all", "Send it as a string, or within ±(2^53−1)."
        ),
        "not-an-object": of(422, "The body is not an object", "Send one JSON object."),
        "invalid-body": of(
            422, "The body does not fit this address", "Correct each place that `errors` names."
        ),
        "headers-too-large": of(431, "The headers are too large", "Send smaller headers."),
        "rate-limited": of(
            429, "Too many requests", "Wait for `Retry-After` seconds, then repeat the request."
        ),
        "queue-quota": of(
            429,
            "Too many open handoffs",
            "Wait until open handoffs are decided or cancelled; the checkpoint was not stored.",
        ),
        "internal-error": of(
            500, "A fault of ours", "Repeat the request once. If it fails again, report the request_id."
        ),
        "storage-unavailable": of(
            503,
            "The database does not answer",
            "Nothing is certain about this request. Repeat it after `Retry-After` seconds: repeats are safe.",
        ),
        "signer-unavailable": of(
            503,
            "No signing key is installed",
            "Ask the administrator to install one, then repeat the request.",
        ),
        "too-many-waiters": of(
            503, "Too many requests wait already", "Repeat the request without waiting, or later."
        ),
    }


TYPES: Final = _types()


def problem(
    request: HttpRequest,
    slug: str,
    *,
    detail: str,
    status: int | None = None,
    errors: list[JSONValue] | None = None,
    extra: Mapping[str, JSONValue] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """One problem document as an answer."""
    body = document(request, slug, detail=detail, status=status, errors=errors, extra=extra)
    return HttpResponse(
        orjson.dumps(body), status=int(str(body["status"])), content_type=CONTENT_TYPE, headers=headers
    )


def document(
    request: HttpRequest,
    slug: str,
    *,
    detail: str,
    status: int | None = None,
    errors: list[JSONValue] | None = None,
    extra: Mapping[str, JSONValue] | None = None,
) -> JSONObject:
    """The members of a problem; `extra` ones stand at its top level and never replace the standard ones."""
    known = TYPES.get(slug) or TYPES["internal-error"]
    return {
        **(extra or {}),
        "type": f"/problems/{slug}",
        "title": known.title,
        "status": status or known.status,
        "detail": detail,
        "instance": request.path[:200],
        "request_id": getattr(request, "request_id", None),
        "errors": errors or [],
    }


def of_error(request: HttpRequest, error: ReviewQueueError) -> JSONObject:
    """The problem document of one of our own errors."""
    return document(
        request,
        error.slug,
        detail=error.detail,
        status=error.status,
        errors=[{"pointer": item.pointer, "code": item.code, "detail": item.detail} for item in error.errors],
        extra=error.extra,
    )


_DJANGO: Final[tuple[tuple[type[Exception], str, str], ...]] = (
    (Http404, "not-found", "Nothing answers at this address."),
    (DisallowedHost, "invalid-parameter", "The Host header names no host of this service."),
    (RequestDataTooBig, "payload-too-large", "The body is too large."),
    (SuspiciousOperation, "invalid-parameter", "The request cannot be read."),
    (PermissionDenied, "insufficient-scope", "This token may not do this."),
)


def answer_to(request: HttpRequest, error: Exception) -> HttpResponse:
    """The answer to any exception. What nobody expected is logged and is a 500 without its text."""
    if isinstance(error, ReviewQueueError):
        return _ours(request, error)
    if isinstance(error, drf.APIException):
        return _of_framework(request, error)
    for kind, slug, detail in _DJANGO:
        if isinstance(error, kind):
            return problem(request, slug, detail=detail)
    if storage.is_away(error=error):
        log.warning("storage.unavailable", error=type(error).__name__, detail=str(error)[:200])
        return problem(
            request,
            "storage-unavailable",
            detail="The database does not answer now. Repeat the request: repeats are safe.",
            headers={"Retry-After": str(storage.RETRY_AFTER_SECONDS)},
        )
    log.error("request.failed", path=request.path, method=request.method, exc_info=error)
    return problem(
        request,
        "internal-error",
        detail="A fault of ours. Repeat the request once; if it fails again, report the request_id.",
    )


def _ours(request: HttpRequest, error: ReviewQueueError) -> HttpResponse:
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.status == 401:
        headers["WWW-Authenticate"] = CHALLENGE
    body = of_error(request, error)
    if error.status >= 500:
        log.warning("request.unavailable", slug=error.slug, detail=error.detail)
    return HttpResponse(orjson.dumps(body), status=error.status, content_type=CONTENT_TYPE, headers=headers)


_FRAMEWORK: Final[tuple[tuple[type[drf.APIException], str], ...]] = (
    (drf.NotAuthenticated, "unauthenticated"),
    (drf.AuthenticationFailed, "unauthenticated"),
    (drf.PermissionDenied, "insufficient-scope"),
    (drf.NotFound, "not-found"),
    (drf.MethodNotAllowed, "method-not-allowed"),
    (drf.NotAcceptable, "not-acceptable"),
    (drf.UnsupportedMediaType, "unsupported-media-type"),
    (drf.ParseError, "malformed-json"),
    (drf.ValidationError, "invalid-body"),
    (drf.Throttled, "rate-limited"),
)


def _of_framework(request: HttpRequest, error: drf.APIException) -> HttpResponse:
    for kind, slug in _FRAMEWORK:
        if isinstance(error, kind):
            return problem(request, slug, detail=f"{error.detail} {TYPES[slug].meaning}")
    return problem(request, "internal-error", detail=TYPES["internal-error"].meaning)
