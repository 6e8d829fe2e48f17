"""Signed heads of the audit tree, and proofs that an entry is under one (contract §5, §9)."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from checkpoints.api import keyset
from checkpoints.api.audit import own_entries
from checkpoints.api.documents import page_of, ref
from checkpoints.api.endpoint import Endpoint, answer, plain
from checkpoints.api.keyset import Order
from checkpoints.api.openapi import PAGING, described, query
from checkpoints.api.parameters import Parameters
from checkpoints.errors import NotFound
from checkpoints.models import Scope, TreeHead
from checkpoints.services.audit_proofs import grown, hash_text, head_json, head_of, path_json, prove
from checkpoints.transparency import leaf_hash
from checkpoints.types import JSONObject, JSONValue

LARGEST: Final = 2**53 - 1
LARGEST_FIRST: Final = Order("size", descending=True, read=int, key=int)
SIZE: Final[JSONObject] = {"type": "integer", "minimum": 1}


class TreeHeadList(Endpoint):
    scope = Scope.AUDIT_READ

    @described(
        "listTreeHeads",
        "Signed heads of the audit tree",
        {200: page_of("TreeHead")},
        tag="audit",
        scope=Scope.AUDIT_READ.value,
        parameters=[
            query(
                "earlier",
                "The size of a head that you kept: each larger head then brings the proof that it grew out of it.",
                SIZE,
            ),
            *PAGING,
        ],
    )
    def get(self, request: Request) -> HttpResponse:
        """Heads, newest first. `consistency` is null unless `earlier` is given."""
        http = plain(request)
        parameters = Parameters(http, single=("earlier", *keyset.PARAMETERS))
        earlier = parameters.integer("earlier", default=0, least=1, most=LARGEST)
        if earlier:
            head_of(size=earlier)
        found = keyset.page(http, parameters, TreeHead.objects.all(), LARGEST_FIRST)
        rows: list[JSONValue] = [
            {**head_json(head), "consistency": path_json(grown(earlier=earlier, head=head))}
            for head in found.rows
        ]
        return answer(keyset.listing(rows, found))


class AuditProof(Endpoint):
    scope = Scope.AUDIT_READ

    @described(
        "getAuditProof",
        "The proof that an audit entry is under a signed head",
        {200: ref("AuditProof")},
        tag="audit",
        scope=Scope.AUDIT_READ.value,
        problems=["not-found"],
        parameters=[query("size", "Under the head of this size. Otherwise under the newest.", SIZE)],
    )
    def get(self, request: Request, entry_id: UUID) -> HttpResponse:
        """`leaf_index`, `leaf_hash`, `path` and `head` are null while the entry is not sealed: a few seconds."""
        parameters = Parameters(plain(request), single=("size",))
        size = parameters.integer("size", default=0, least=1, most=LARGEST) or None
        entry = own_entries(self.orchestrator).filter(pk=entry_id).first()
        if entry is None:
            raise NotFound(
                "This orchestrator has no audit entry of this id. Ids stand in GET /api/v1/audit, as `id`."
            )
        proof = prove(entry=entry, size=size)
        return answer(
            {
                "id": str(entry.pk),
                "digest": entry.digest,
                "leaf_index": proof.leaf.leaf_index if proof else None,
                "leaf_hash": hash_text(leaf_hash(entry.digest)) if proof else None,
                "path": path_json(proof.path) if proof else None,
                "head": head_json(proof.head) if proof else None,
            }
        )
