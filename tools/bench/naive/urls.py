"""The one address."""

from __future__ import annotations

from django.urls import path

from tools.bench.naive.views import Checkpoints

urlpatterns = [path("checkpoints", Checkpoints.as_view())]
