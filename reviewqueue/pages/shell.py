"""What every page shares: who may see it, the frame around it, and how an error becomes an answer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseNotModified
from django.shortcuts import render
from django.utils import timezone
from django.utils.cache import patch_vary_headers

from checkpoints.errors import InvalidInput, ReviewQueueError
from checkpoints.types import Actor
from reviewqueue.models import User
from reviewqueue.pages import errors, waiting
from reviewqueue.services import access
from reviewqueue.services.access import Act
from reviewqueue.services.claiming import actor_of

THEMES = ("light", "dark")
DENSITIES = ("comfortable", "compact")


class PersonRequest(HttpRequest):
    """A request whose person has signed in."""

    user: User


class View(Protocol):
    def __call__(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponse: ...


def page(*, may: Act | None = None, methods: tuple[str, ...] = ("GET",)) -> Callable[[View], View]:
    """Guard a view: signed in, allowed method, right `may`; errors of the tree become pages.

    Every answer varies on HX-Request and is never stored: a fragment must not be shown as a page, and
    what agents wrote must not stay on a shared machine.
    """
    allowed = (*methods, "HEAD") if "GET" in methods else methods

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def guarded(request: Any, *args: Any, **kwargs: Any) -> HttpResponse:
            response = _answer(view, request, allowed, may, *args, **kwargs)
            patch_vary_headers(response, ["HX-Request"])
            response.headers["Cache-Control"] = "no-store, private"
            return response

        return guarded

    return decorate


def _answer(
    view: View, request: Any, allowed: tuple[str, ...], may: Act | None, *args: Any, **kwargs: Any
) -> HttpResponse:
    if request.method not in allowed:
        return HttpResponseNotAllowed(allowed)
    if not request.user.is_authenticated:
        # A poll must not swap the sign-in page into the queue; an act leads back to the page of its form.
        if is_partial(request):
            return HttpResponse(status=401)
        parent = request.path.rstrip("/").rpartition("/")[0] + "/"
        if request.method == "POST" and errors.typed_texts(request):
            return errors.signed_out(request, request.get_full_path() if "GET" in allowed else parent)
        return redirect_to_login(request.get_full_path() if "GET" in allowed else parent)
    try:
        if may is not None:
            access.require(request.user, may)
        return view(request, *args, **kwargs)
    except ReviewQueueError as error:
        return errors.problem_page(request, error)


def is_partial(request: HttpRequest) -> bool:
    """htmx asks for a piece of the page."""
    return request.headers.get("HX-Request") == "true"


def unchanged(request: HttpRequest, tag: str) -> HttpResponse | None:
    """304 where the caller has this version already, else None. `tag` is a quoted entity tag."""
    if tag in (part.strip() for part in request.headers.get("If-None-Match", "").split(",")):
        response = HttpResponseNotModified()
        response.headers["ETag"] = tag
        return response
    return None


def single_parameters(parameters: Any, *, known: frozenset[str] | None = None) -> dict[str, str]:
    """The parameters of a query or form as plain text. A repeated one is 400, an unknown one 400 too."""
    values: dict[str, str] = {}
    for name, given in parameters.lists():
        if len(given) != 1:
            raise InvalidInput(
                f"“{name}” was sent {len(given)} times. Send it once.", slug="parameter-repeated", status=400
            )
        if known is not None and name not in known:
            raise InvalidInput(f"“{name}” is not a parameter of this page.", status=400)
        values[name] = given[0]
    return values


def actor(request: PersonRequest) -> Actor:
    """The signed-in person as audit entries name them."""
    return actor_of(
        request.user,
        request_id=getattr(request, "request_id", None),
        trace_id=getattr(request, "trace_id", None),
    )


def frame(request: PersonRequest, here: str) -> dict[str, Any]:
    """Names that base.html needs."""
    user = request.user
    works = access.may(user, Act.SEE_QUEUE)
    return {
        "compact": request.COOKIES.get("density") == "compact",
        "clock": timezone.now(),
        "nav": {
            "here": here,
            "work": works,
            "oversight": access.may(user, Act.AUDIT),
            "tokens": access.may(user, Act.ADMINISTER),
            "waiting": waiting.badge() if works else "",
        },
    }


def render_page(
    request: PersonRequest, template: str, context: Mapping[str, Any], *, here: str = "", status: int = 200
) -> HttpResponse:
    """A whole page inside the frame."""
    return render(request, template, {**frame(request, here), **context}, status=status)
