"""`/problems/<slug>`: what a problem type means and what to do about it."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request

from checkpoints.api.documents import ref
from checkpoints.api.endpoint import PublicEndpoint, answer
from checkpoints.api.openapi import described
from checkpoints.api.problems import TYPES
from checkpoints.errors import NotFound


class ProblemTypeDetail(PublicEndpoint):
    @described(
        "getProblemType",
        "What a problem means",
        {200: ref("ProblemType")},
        tag="operations",
        problems=["not-found"],
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        """One problem type."""
        known = TYPES.get(slug)
        if known is None:
            raise NotFound("There is no such problem type.")
        return answer(
            {
                "type": f"/problems/{slug}",
                "title": known.title,
                "status": known.status,
                "meaning": known.meaning,
            },
            headers={"Cache-Control": "public, max-age=3600"},
        )
