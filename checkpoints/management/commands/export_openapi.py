"""Print the OpenAPI file, for docs/openapi.json and for generators of clients."""

from __future__ import annotations

import json
from typing import Any

from checkpoints.api.openapi import document
from checkpoints.management.answering import Answer, AnsweringCommand


class Command(AnsweringCommand):
    help = "Print the OpenAPI 3.1 description of the API. Needs no database. Exit codes: 0 printed."

    def answer(self, options: dict[str, Any]) -> Answer:
        text = document().decode()
        return Answer(text, json.loads(text))
