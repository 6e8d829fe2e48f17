"""Print the OpenAPI file, for docs/openapi.json and for generators of clients."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from checkpoints.api.openapi import document


class Command(BaseCommand):
    help = "Print the OpenAPI 3.1 description of the API. Needs no database. Exit codes: 0 printed."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(document().decode())
