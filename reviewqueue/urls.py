"""Which address leads where. Pages and API add their own lists here."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

urlpatterns: list[URLPattern | URLResolver] = [
    path("accounts/", include("allauth.urls")),
    path("", include("checkpoints.api.urls")),
    path("", include("reviewqueue.pages.routes")),
]

handler400 = "reviewqueue.pages.errors.bad_request"
handler403 = "reviewqueue.pages.errors.permission_denied"
handler404 = "reviewqueue.pages.errors.not_found"
handler500 = "reviewqueue.pages.errors.server_error"
