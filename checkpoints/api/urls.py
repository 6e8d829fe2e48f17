"""The addresses of the machines' surface. None ends in a slash."""

from __future__ import annotations

from django.urls import path

from checkpoints.api.handoffs import HandoffBody, HandoffDetail, HandoffList
from checkpoints.api.refusals import RefusalBytes, RefusalList
from checkpoints.api.submitting import Checkpoints
from checkpoints.api.types_of_problems import ProblemTypeDetail

app_name = "api"
urlpatterns = [
    path("api/v1/checkpoints", Checkpoints.as_view(), name="checkpoint-submit"),
    path("api/v1/handoffs", HandoffList.as_view(), name="handoff-list"),
    path("api/v1/handoffs/<str:checkpoint_id>", HandoffDetail.as_view(), name="handoff-detail"),
    path("api/v1/handoffs/<str:checkpoint_id>/body", HandoffBody.as_view(), name="handoff-body"),
    path("api/v1/refusals", RefusalList.as_view(), name="refusal-list"),
    path("api/v1/refusals/<uuid:refusal_id>/body", RefusalBytes.as_view(), name="refusal-body"),
    path("problems/<slug:slug>", ProblemTypeDetail.as_view(), name="problem-type"),
]
