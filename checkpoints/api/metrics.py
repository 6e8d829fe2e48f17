"""What `/metrics` counts of each request."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest
from prometheus_client import Counter, Histogram

REQUESTS: Final = Counter("reviewqueue_api_requests", "Requests answered", ["method", "route", "status"])
SECONDS: Final = Histogram(
    "reviewqueue_api_request_seconds",
    "Time to answer, waiting included",
    ["route"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
)
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})


def observe(request: HttpRequest, status: int, seconds: float) -> None:
    """Count one answered request. Unknown addresses and methods share a label: callers cannot invent series."""
    match = request.resolver_match
    route = (match.view_name or match.route) if match else "unknown"
    method = request.method if request.method in _METHODS else "other"
    REQUESTS.labels(method, route, status).inc()
    SECONDS.labels(route).observe(seconds)
