"""The addresses of the pages (contract §10). `{id}` is our own id of a handoff."""

from __future__ import annotations

from django.urls import path

from reviewqueue.pages import (
    acts,
    audit,
    dashboard,
    editing,
    handoffs,
    home,
    policy,
    queue,
    refusals,
    review,
    sessions,
    tickets,
    tokens,
)

app_name = "review"
urlpatterns = [
    path("", home.home, name="home"),
    path("theme/", home.theme, name="theme"),
    path("keys/", home.keys, name="keys"),
    path("queue/", queue.queue, name="queue"),
    path("handoffs/", handoffs.handoffs, name="handoffs"),
    path("handoffs/<uuid:handoff_id>/", review.detail, name="detail"),
    path("handoffs/<uuid:handoff_id>/node/", review.node, name="node"),
    path("handoffs/<uuid:handoff_id>/claim/", acts.claim, name="claim"),
    path("handoffs/<uuid:handoff_id>/release/", acts.release, name="release"),
    path("handoffs/<uuid:handoff_id>/decide/", acts.decide, name="decide"),
    path("handoffs/<uuid:handoff_id>/reopen/", acts.reopen, name="reopen"),
    path("handoffs/<uuid:handoff_id>/undo/", acts.undo, name="undo"),
    path("handoffs/<uuid:handoff_id>/edit/", editing.edit, name="edit"),
    path("sessions/<str:session_id>/", sessions.session, name="session"),
    path("refusals/", refusals.refusals, name="refusals"),
    path("audit/", audit.audit, name="audit"),
    path("tickets/<str:reference>/", tickets.ticket, name="ticket"),
    path("policy/", policy.policy, name="policy"),
    path("dashboard/", dashboard.dashboard, name="dashboard"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<uuid:token_id>/revoke/", tokens.revoke, name="token-revoke"),
]
