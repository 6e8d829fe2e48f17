"""The base of every view: bearer token, scope, negotiation, problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import orjson
from django.http import HttpRequest, HttpResponse
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import MethodNotAllowed, NotAcceptable
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from checkpoints.api.problems import CHALLENGE, answer_to
from checkpoints.errors import NotAllowed
from checkpoints.models import Orchestrator, Scope
from checkpoints.services import tokens
from checkpoints.services.tokens import Caller
from checkpoints.types import Actor, JSONValue

JSON: Final = "application/json"


class BearerToken(BaseAuthentication):
    """`Authorization: Bearer rq_…`, once. Session cookies are never looked at."""

    def authenticate(self, request: Request) -> tuple[Caller, Caller]:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        scheme, _, text = header.partition(" ")
        # Servers join repeated headers with a comma: two are refused like a malformed one.
        caller = tokens.authenticate(text=text.strip(" ") if scheme.lower() == "bearer" else "")
        return caller, caller

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


class AcceptHeader(BaseContentNegotiation):
    """What the view produces, if the caller takes it. `?format=` has no meaning here."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return None

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        view: Endpoint = request.parser_context["view"]
        if not view.produces or accepted(request.META.get("HTTP_ACCEPT", ""), view.produces) is not None:
            return renderers[0], JSON
        raise NotAcceptable(f"This address answers with {' or '.join(view.produces)}.")


def accepted(header: str, produces: tuple[str, ...]) -> str | None:
    """The first of `produces` that an Accept header takes; None where it takes none of them."""
    if header in ("", "*/*", JSON) and (header != JSON or JSON in produces):
        return JSON if header == JSON else produces[0]
    ranges: dict[str, float] = {}
    for part in header.split(","):
        name, _, parameters = part.partition(";")
        ranges[name.strip().lower()] = _quality(parameters)
    best: tuple[float, str | None] = (0.0, None)
    for media_type in produces:
        for name in (media_type, media_type.split("/")[0] + "/*", "*/*"):
            if name in ranges:
                if ranges[name] > best[0]:
                    best = (ranges[name], media_type)
                break
    return best[1]


def _quality(parameters: str) -> float:
    for parameter in parameters.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "q":
            try:
                return min(1.0, max(0.0, float(value)))
            except ValueError:
                return 0.0
    return 1.0


class Endpoint(APIView):
    """One address. Order of refusals: method (405), Accept (406), token (401), scope (403), then the view's own."""

    http_method_names = ["get", "head", "post"]
    renderer_classes: Any = [JSONRenderer]
    content_negotiation_class = AcceptHeader
    authentication_classes: Any = [BearerToken]
    permission_classes: Any = []
    throttle_classes: Any = []

    scope: ClassVar[Scope | None] = None  # None: any valid token
    produces: ClassVar[tuple[str, ...]] = (JSON,)  # (): whatever the caller accepts

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        method = (request.method or "").lower()
        if method not in self.http_method_names or not hasattr(self, method):
            raise MethodNotAllowed(request.method or "")
        super().initial(request, *args, **kwargs)

    def check_permissions(self, request: Request) -> None:
        caller: Any = request.user
        if self.scope is not None and isinstance(caller, Caller) and self.scope.value not in caller.scopes:
            raise NotAllowed(
                f"This address needs a token with the scope {self.scope.value}.", slug="insufficient-scope"
            )

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        return answer_to(self.request._request, exc)

    @property
    def orchestrator(self) -> Orchestrator:
        caller: Any = self.request.user
        orchestrator: Orchestrator = caller.orchestrator
        return orchestrator

    @property
    def actor(self) -> Actor:
        """The orchestrator as the audit trail names it, in this request."""
        name = self.orchestrator.name
        request: Any = self.request._request
        return Actor(
            kind="orchestrator", id=name, label=name, request_id=request.request_id, trace_id=request.trace_id
        )


class PublicEndpoint(Endpoint):
    """An address that needs no token."""

    authentication_classes: Any = []


def answer(value: JSONValue, *, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpResponse:
    """A JSON answer."""
    return HttpResponse(orjson.dumps(value), status=status, content_type=JSON, headers=headers)


def plain(request: Request | HttpRequest) -> HttpRequest:
    """Django's own request under DRF's."""
    return request._request if isinstance(request, Request) else request
