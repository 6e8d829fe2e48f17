"""The addresses of the machines' surface. None ends in a slash."""

from __future__ import annotations

from django.urls import path

from checkpoints.api.audit import AuditList
from checkpoints.api.audit_tree import AuditProof, TreeHeadList
from checkpoints.api.dispatching import Acknowledge, Cancel, Dispatch, Fail, Refuse
from checkpoints.api.documentation import Documentation, Schema
from checkpoints.api.handoffs import HandoffBody, HandoffDetail, HandoffList
from checkpoints.api.operations import Health, Metrics, Ready
from checkpoints.api.reference import Checks, Digests, Policy, Prompt, SchemaDetail, SchemaList
from checkpoints.api.refusals import RefusalBytes, RefusalList
from checkpoints.api.sessions import SessionDetail, SessionRecovery
from checkpoints.api.submitting import CheckpointBatch, Checkpoints
from checkpoints.api.tickets import Keys, TicketDetail, TicketVerify
from checkpoints.api.types_of_problems import ProblemTypeDetail

HANDOFF = "api/v1/handoffs/<str:checkpoint_id>"
SESSION = "api/v1/sessions/<str:session_id>"

app_name = "api"
urlpatterns = [
    path("api/v1/checkpoints", Checkpoints.as_view(), name="checkpoint-submit"),
    path("api/v1/checkpoints/batch", CheckpointBatch.as_view(), name="checkpoint-batch"),
    path("api/v1/handoffs", HandoffList.as_view(), name="handoff-list"),
    path(HANDOFF, HandoffDetail.as_view(), name="handoff-detail"),
    path(f"{HANDOFF}/body", HandoffBody.as_view(), name="handoff-body"),
    path(f"{HANDOFF}/dispatch", Dispatch.as_view(), name="handoff-dispatch"),
    path(f"{HANDOFF}/ack", Acknowledge.as_view(), name="handoff-ack"),
    path(f"{HANDOFF}/fail", Fail.as_view(), name="handoff-fail"),
    path(f"{HANDOFF}/refuse", Refuse.as_view(), name="handoff-refuse"),
    path(f"{HANDOFF}/cancel", Cancel.as_view(), name="handoff-cancel"),
    path(SESSION, SessionDetail.as_view(), name="session-detail"),
    path(f"{SESSION}/recovery", SessionRecovery.as_view(), name="session-recovery"),
    path("api/v1/refusals", RefusalList.as_view(), name="refusal-list"),
    path("api/v1/refusals/<uuid:refusal_id>/body", RefusalBytes.as_view(), name="refusal-body"),
    path("api/v1/checks", Checks.as_view(), name="check-list"),
    path("api/v1/schemas", SchemaList.as_view(), name="schema-list"),
    path("api/v1/schemas/<path:name>", SchemaDetail.as_view(), name="schema-detail"),
    path("api/v1/digests", Digests.as_view(), name="digest-compute"),
    path("api/v1/policy", Policy.as_view(), name="policy-detail"),
    path("api/v1/prompt", Prompt.as_view(), name="prompt-detail"),
    path("api/v1/tickets/verify", TicketVerify.as_view(), name="ticket-verify"),
    path("api/v1/tickets/<str:reference>", TicketDetail.as_view(), name="ticket-detail"),
    path("api/v1/audit", AuditList.as_view(), name="audit-list"),
    path("api/v1/audit/heads", TreeHeadList.as_view(), name="tree-head-list"),
    path("api/v1/audit/<uuid:entry_id>/proof", AuditProof.as_view(), name="audit-proof"),
    path("api/v1/schema", Schema.as_view(), name="schema"),
    path("api/docs", Documentation.as_view(), name="documentation"),
    path(".well-known/jwks.json", Keys.as_view(), name="key-list"),
    path("healthz", Health.as_view(), name="health"),
    path("readyz", Ready.as_view(), name="readiness"),
    path("metrics", Metrics.as_view(), name="metrics"),
    path("problems/<slug:slug>", ProblemTypeDetail.as_view(), name="problem-type"),
]
