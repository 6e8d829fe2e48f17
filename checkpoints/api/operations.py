"""What operators' machines ask: health, readiness, metrics."""

from __future__ import annotations

import hmac
import ipaddress
from typing import ClassVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, generate_latest
from rest_framework.request import Request

from checkpoints.api import metrics
from checkpoints.api.documents import TEXT, ref
from checkpoints.api.endpoint import PublicEndpoint, answer, plain
from checkpoints.api.openapi import described
from checkpoints.errors import Unauthenticated
from checkpoints.services.health import readiness

metrics.register(REGISTRY)


class Health(PublicEndpoint):
    produces: ClassVar[tuple[str, ...]] = ()

    @described("getHealth", "This process answers", {200: ref("Health")}, tag="operations")
    def get(self, request: Request) -> HttpResponse:
        """This process answers. Nothing else is looked at."""
        return answer({"status": "ok"})


class Ready(PublicEndpoint):
    produces: ClassVar[tuple[str, ...]] = ()

    @described(
        "getReadiness",
        "Whether requests should be sent here",
        {200: ref("Readiness"), 503: ref("Readiness")},
        tag="operations",
    )
    def get(self, request: Request) -> HttpResponse:
        """Whether requests should be sent here: 503 without database, migrations or a worker since the start."""
        found = readiness()
        return answer(
            {"status": found.status, "checks": {**found.checks}},
            status=200 if found.serves else 503,
            headers={} if found.serves else {"Retry-After": "1"},
        )


class Metrics(PublicEndpoint):
    produces: ClassVar[tuple[str, ...]] = ()

    @described(
        "getMetrics",
        "Prometheus text",
        {200: TEXT},
        tag="operations",
        media_type="text/plain",
        problems=["unauthenticated"],
    )
    def get(self, request: Request) -> HttpResponse:
        """Prometheus text, for callers on this machine or with METRICS_TOKEN."""
        if not (_from_here(plain(request)) or _has_token(plain(request))):
            raise Unauthenticated("Ask from this machine, or send the METRICS_TOKEN as a bearer token.")
        return HttpResponse(generate_latest(REGISTRY), content_type=CONTENT_TYPE_LATEST)


def _from_here(request: HttpRequest) -> bool:
    """A caller on loopback that forwards for nobody else."""
    if "HTTP_X_FORWARDED_FOR" in request.META or "HTTP_FORWARDED" in request.META:
        return False
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False


def _has_token(request: HttpRequest) -> bool:
    scheme, _, given = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    return (
        bool(settings.METRICS_TOKEN)
        and scheme.lower() == "bearer"
        and hmac.compare_digest(given.strip().encode(), settings.METRICS_TOKEN.encode())
    )
