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
    policy_drafts,
    policy_simulation,
    queue,
    refusals,
    review,
    sessions,
    tickets,
    tokens,
    viewing,
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
    path("handoffs/<uuid:handoff_id>/seen/", viewing.seen, name="seen"),
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
    path("policy/versions/<int:number>/", policy.version, name="policy-version"),
    path("policy/drafts/", policy_drafts.begin, name="policy-begin"),
    path("policy/drafts/<uuid:draft_id>/", policy_drafts.draft, name="policy-draft"),
    path("policy/drafts/<uuid:draft_id>/edit/", policy_drafts.edit, name="policy-edit"),
    path("policy/drafts/<uuid:draft_id>/document/", policy_drafts.document, name="policy-document"),
    path("policy/drafts/<uuid:draft_id>/catch-up/", policy_drafts.catch_up, name="policy-catch-up"),
    path("policy/drafts/<uuid:draft_id>/discard/", policy_drafts.discard, name="policy-discard"),
    path("policy/drafts/<uuid:draft_id>/publish/", policy_drafts.publish, name="policy-publish"),
    path("policy/drafts/<uuid:draft_id>/simulate/", policy_simulation.simulate, name="policy-simulate"),
    path("policy/drafts/<uuid:draft_id>/simulation/", policy_simulation.simulation, name="policy-simulation"),
    path("dashboard/", dashboard.dashboard, name="dashboard"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("tokens/<uuid:token_id>/revoke/", tokens.revoke, name="token-revoke"),
]
