"""Every refusal as a page that says what is wrong and what to do next. Never a stack trace, never bare text."""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse

from checkpoints.errors import ReviewQueueError
from checkpoints.services import storage

TEXTS = {
    "reason": "Reason",
    "question": "Question to the sender",
    "comment": "Comment",
    "text": "Comment",
    "document": "Document",
    "note": "Note",
}  # what people write at length, by the field's name
TITLES = {
    400: "This request cannot be used",
    401: "You are signed out",
    403: "You may not do this",
    404: "There is nothing at this address",
    405: "This address does not answer that way",
    409: "Something changed in the meantime",
    413: "This is too large",
    422: "Something in the form needs correcting",
    429: "That was too fast",
    500: "Something broke on our side",
    503: "A part we need is away",
}
NEXT_STEPS = {
    400: "Go back and try again from the page you came from.",
    403: "An admin can change roles. If you came by a link, ask its sender to decide instead.",
    404: "It may never have existed, or its address was shortened. Look for it in the list of handoffs.",
    409: "Open the page again to see what it looks like now.",
    429: "Wait a minute and try again. Nothing was lost.",
    500: "Nothing was decided. Try again; if it happens twice, give the request number below to whoever runs this.",
    503: "Nothing was decided. The same request works again in a moment.",
}


def problem_page(request: HttpRequest, error: ReviewQueueError) -> HttpResponse:
    response = error_page(request, error.status, error.detail, title=None)
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def error_page(
    request: HttpRequest, status: int, detail: str, *, title: str | None = None, sign_in: str = ""
) -> HttpResponse:
    """A plain page without the frame: it must render when half of the application does not."""
    context = {
        "typed": typed_texts(request),
        "sign_in": sign_in,
        "status": status,
        "heading": title or TITLES.get(status, TITLES[500 if status >= 500 else 400]),
        "detail": detail,
        "next_step": NEXT_STEPS.get(status, ""),
        "request_id": getattr(request, "request_id", ""),
    }
    return render(request, "error.html", context, status=status)


def typed_texts(request: HttpRequest) -> list[tuple[str, str]]:
    """What a person wrote in the form that failed, label and text each: an error page never swallows it."""
    try:
        return [
            (label, text) for name, label in TEXTS.items() if (text := request.POST.get(name, "").strip())
        ]
    except Exception:  # noqa: BLE001 a body that cannot be read holds nothing to show, and this page must render
        return []


def signed_out(request: HttpRequest, back: str) -> HttpResponse:
    """401 for a form whose session ended: nothing was done, what was written stands here, and the way back in."""
    query = urlencode({"next": back})
    return error_page(
        request,
        401,
        "Your session ended before this form arrived, so nothing was decided.",
        sign_in=f"{reverse('account_login')}?{query}",
    )


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 400, "The request is malformed or came to a host name that is not ours.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 403, "Your account does not have the right for this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 404, "No page, handoff or session of ours has this address.")


def server_error(request: HttpRequest) -> HttpResponse:
    """The page for an exception that no view caught: 503 where only the database is away, else 500."""
    away = storage.is_away(error=sys.exception())
    status = 503 if away else 500
    context: dict[str, Any] = {
        "typed": typed_texts(request),
        "sign_in": "",
        "status": status,
        "heading": TITLES[status],
        "detail": "The database does not answer now."
        if away
        else "An error that we did not expect stopped this page.",
        "next_step": NEXT_STEPS[status],
        "request_id": getattr(request, "request_id", ""),
    }
    # Without the request: a context processor may be what broke.
    response = HttpResponse(render_to_string("error.html", context), status=status)
    if away:
        response.headers["Retry-After"] = str(storage.RETRY_AFTER_SECONDS)
    return response


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """CSRF_FAILURE_VIEW."""
    return error_page(
        request,
        403,
        "The form's security token is missing, old or from another site, so nothing was done. "
        "Go back, reload the page and send the form again; copy what you typed first.",
        title="This form cannot be trusted",
    )
