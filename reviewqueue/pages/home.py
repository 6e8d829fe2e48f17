"""`/` leads everybody to where their work is; the choice of the theme is kept in a cookie."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from reviewqueue.models import Role
from reviewqueue.pages.shell import DENSITIES, THEMES, PersonRequest, page

HOMES = {
    Role.OPERATOR: "review:queue",
    Role.SENIOR_OPERATOR: "review:queue",
    Role.MANAGER: "review:dashboard",
    Role.ADMIN: "review:tokens",
}
YEAR = 365 * 86_400


@page()
def home(request: PersonRequest) -> HttpResponse:
    return HttpResponseRedirect(reverse(HOMES[Role(request.user.role)]))


def safe_next(request: HttpRequest, otherwise: str = "/") -> str:
    """The address that a form names as `next` where it is one of ours."""
    target = request.POST.get("next", "")
    ours = url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()})
    return target if ours and target.startswith("/") else otherwise


def _back(request: HttpRequest) -> HttpResponseRedirect:
    response = HttpResponseRedirect(safe_next(request))
    response.status_code = 303
    return response


def _keep(request: HttpRequest, response: HttpResponse, name: str, value: str) -> HttpResponse:
    options: dict[str, Any] = {
        "max_age": YEAR,
        "samesite": "Lax",
        "secure": request.is_secure(),
        "httponly": True,
    }
    response.set_cookie(name, value, **options)
    return response


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Light or dark for this browser, also before sign-in."""
    chosen = request.POST.get("theme", "")
    response = _back(request)
    return _keep(request, response, "theme", chosen) if chosen in THEMES else response


@require_POST
def density(request: HttpRequest) -> HttpResponse:
    """Comfortable or compact rows for this browser."""
    chosen = request.POST.get("density", "")
    response = _back(request)
    return _keep(request, response, "density", chosen) if chosen in DENSITIES else response
