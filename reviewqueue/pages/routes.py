"""The addresses of the pages (contract §10). `{id}` is our own id of a handoff."""

from __future__ import annotations

from django.urls import path

from reviewqueue.pages import home, queue

app_name = "review"
urlpatterns = [
    path("", home.home, name="home"),
    path("theme/", home.theme, name="theme"),
    path("keys/", home.keys, name="keys"),
    path("queue/", queue.queue, name="queue"),
]
