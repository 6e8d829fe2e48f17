"""The app without migrations: `migrate --run-syncdb` makes its tables."""

from __future__ import annotations

from django.apps import AppConfig


class Naive(AppConfig):
    name = "tools.bench.naive"
    label = "naive"
