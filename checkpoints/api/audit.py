"""The audit trail of one orchestrator's objects (contract §9)."""

from __future__ import annotations

from typing import Final

from django.db.models import Q, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from checkpoints.api import keyset
from checkpoints.api.documents import TIME, page_of
from checkpoints.api.endpoint import Endpoint, answer, plain
from checkpoints.api.keyset import Order
from checkpoints.api.openapi import PAGING, described, query
from checkpoints.api.parameters import Parameters, invalid
from checkpoints.models import AuditEntry, Handoff, Orchestrator, Scope
from checkpoints.services.audit_export import entry_json

NEWEST_FIRST = Order("at", descending=True)

OWN: Final = """
    CASE audit_entry.subject_kind
        WHEN 'handoff' THEN EXISTS (
            SELECT FROM handoff h WHERE h.id = audit_entry.subject_id::uuid AND h.orchestrator_id = %s)
        WHEN 'refusal' THEN EXISTS (
            SELECT FROM refusal r WHERE r.id = audit_entry.subject_id::uuid AND r.orchestrator_id = %s)
        WHEN 'orchestrator' THEN audit_entry.subject_id = %s
        ELSE false
    END
"""


class AuditList(Endpoint):
    scope = Scope.AUDIT_READ

    @described(
        "listAudit",
        "The audit trail in pages",
        {200: page_of("AuditEntry")},
        tag="audit",
        scope=Scope.AUDIT_READ.value,
        parameters=[
            query("actor", "Whose id is this."),
            query("action", "Of this action, such as handoff.approved."),
            query("subject", "kind:id; a handoff may be named by its checkpoint_id."),
            query("from", "At this time or later.", TIME),
            query("to", "Before this time.", TIME),
            *PAGING,
        ],
    )
    def get(self, request: Request) -> HttpResponse:
        """Audit entries about this orchestrator's objects, newest first."""
        http = plain(request)
        parameters = Parameters(http, single=("actor", "action", "subject", "from", "to", *keyset.PARAMETERS))
        owner = self.orchestrator
        rows = own_entries(owner).select_related("text", "leaf")
        found = keyset.page(http, parameters, _filtered(rows, parameters, owner), NEWEST_FIRST)
        return answer(keyset.listing([entry_json(row) for row in found.rows], found))


def own_entries(owner: Orchestrator) -> QuerySet[AuditEntry]:
    """What an orchestrator may see: entries about its handoffs, its refusals and itself."""
    return AuditEntry.objects.extra(where=[OWN], params=[owner.pk, owner.pk, owner.name])  # noqa: S610 - fixed text


def _filtered(
    rows: QuerySet[AuditEntry], parameters: Parameters, owner: Orchestrator
) -> QuerySet[AuditEntry]:
    if (actor := parameters.text("actor")) is not None:
        rows = rows.filter(actor_id=actor)
    if (action := parameters.text("action")) is not None:
        rows = rows.filter(action=action)
    if (subject := parameters.text("subject")) is not None:
        rows = rows.filter(_subject(subject, owner))
    if (start := parameters.instant("from")) is not None:
        rows = rows.filter(at__gte=start)
    if (end := parameters.instant("to")) is not None:
        rows = rows.filter(at__lt=end)
    return rows


def _subject(given: str, owner: Orchestrator) -> Q:
    """`kind:id`; a handoff may be named by its checkpoint_id, too."""
    kind, colon, identifier = given.partition(":")
    if not colon or not kind or not identifier:
        raise invalid("subject", f"subject is {given[:64]!r}. Send kind:id, such as handoff:ckpt-7.")
    if kind == "handoff":
        named = (
            Handoff.objects.of(owner).filter(checkpoint_id=identifier).values_list("pk", flat=True).first()
        )
        identifier = str(named) if named else identifier
    return Q(subject_kind=kind, subject_id=identifier)
