"""The API's description of itself: the OpenAPI file, and a page to read and try it."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpResponse
from django.template.loader import render_to_string
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from checkpoints.api.endpoint import JSON, PublicEndpoint
from checkpoints.api.openapi import document

# Everything comes from this host; the bundle sets styles through the object model, which a policy allows.
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Schema(PublicEndpoint):
    produces: ClassVar[tuple[str, ...]] = (JSON, "application/vnd.oai.openapi+json")

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """The OpenAPI 3.1 file."""
        return HttpResponse(document(), content_type=JSON, headers={"Cache-Control": "public, max-age=300"})


class Documentation(PublicEndpoint):
    produces: ClassVar[tuple[str, ...]] = ()

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        """The page."""
        return HttpResponse(
            render_to_string("api/docs.html"), headers={"Content-Security-Policy": PAGE_POLICY}
        )
