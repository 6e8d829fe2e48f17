"""The machines' surface: its addresses are answered here, before any middleware of the pages.

Sessions, CSRF, messages and HTML error pages therefore do not exist under these addresses, and whatever goes
wrong, in routing too, is a problem document.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Final

import structlog
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_resolver

from checkpoints.api import metrics
from checkpoints.api.problems import answer_to, problem
from checkpoints.identifiers import uuid7

URLCONF: Final = "checkpoints.api.urls"
PLACES: Final = ("/api/", "/problems/")
ADDRESSES: Final = frozenset({"/api", "/healthz", "/readyz", "/metrics", "/.well-known/jwks.json"})
# Load balancers ask these by address; nothing in the answers comes from the Host header.
PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
HEADER_BYTES: Final = 32_768

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+=~-]{0,63}")
_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_CONTENT_POLICY: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


def is_ours(path: str) -> bool:
    """Whether an address belongs to the machines' surface; a base address that ends in a slash is meant too."""
    path = "/" + path.lstrip("/")
    return path.startswith(PLACES) or path in ADDRESSES


class MachineSurface:
    """Stands first in MIDDLEWARE."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        identify(request)
        if not is_ours(request.path_info):
            with structlog.contextvars.bound_contextvars(request_id=request.request_id):  # type: ignore[attr-defined]
                page = self.get_response(request)
            page.headers["X-Request-ID"] = request.request_id  # type: ignore[attr-defined]
            return page
        response: HttpResponseBase
        with structlog.contextvars.bound_contextvars(request_id=request.request_id):  # type: ignore[attr-defined]
            try:
                response = _answer(request)
            except Exception as error:
                response = answer_to(request, error)
        _finish(request, response)
        metrics.observe(request, response.status_code, time.perf_counter() - started)
        return response


def identify(request: HttpRequest) -> None:
    """Give the request its id (the caller's where it is usable) and the caller's trace id."""
    given = request.META.get("HTTP_X_REQUEST_ID", "")
    request.request_id = given if _REQUEST_ID.fullmatch(given) else uuid7().hex  # type: ignore[attr-defined]
    trace = _TRACEPARENT.fullmatch(request.META.get("HTTP_TRACEPARENT", ""))
    request.trace_id = trace[1] if trace else None  # type: ignore[attr-defined]


def _answer(request: HttpRequest) -> HttpResponseBase:
    if request.path_info not in PROBES:
        request.get_host()  # raises DisallowedHost
    if sum(len(value) for key, value in request.META.items() if key.startswith("HTTP_")) > HEADER_BYTES:
        return problem(
            request, "headers-too-large", detail=f"The headers hold more than {HEADER_BYTES} bytes."
        )
    try:
        match = get_resolver(URLCONF).resolve(request.path_info)
    except Http404:
        return problem(
            request,
            "not-found",
            detail="Nothing answers at this address. No address of the API ends in a slash; /api/docs lists them.",
        )
    request.resolver_match = match
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response


def _finish(request: HttpRequest, response: HttpResponseBase) -> None:
    headers = response.headers
    headers["X-Request-ID"] = request.request_id  # type: ignore[attr-defined]
    headers.setdefault("Content-Security-Policy", _CONTENT_POLICY)
    headers.setdefault("Cache-Control", "no-store")
    headers["X-Content-Type-Options"] = "nosniff"
    headers["X-Frame-Options"] = "DENY"
    headers["Referrer-Policy"] = "same-origin"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    if settings.SECURE_HSTS_SECONDS and request.is_secure():
        headers["Strict-Transport-Security"] = f"max-age={settings.SECURE_HSTS_SECONDS}"
    if isinstance(response, HttpResponse) and response.status_code not in (204, 304):
        headers.setdefault("Content-Length", str(len(response.content)))
    response._has_been_logged = True  # type: ignore[attr-defined]  # our own events say more
