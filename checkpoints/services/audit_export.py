"""Audit entries as a bundle that proves itself: JSON lines, a signed head first, then entries with their paths."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from checkpoints.models import AuditEntry, AuditLeaf, AuditText
from checkpoints.services import sealing
from checkpoints.services.audit_proofs import head_json, path_json
from checkpoints.transparency.bundles import FORMAT
from checkpoints.types import JSONObject, rfc3339


def bundle(
    *, subject: tuple[str, str] | None = None, start: datetime | None = None, end: datetime | None = None
) -> Iterator[JSONObject]:
    """The lines: {"bundle", "head"}, then {"entry", "path"} for each entry, oldest first.

    `path` is null for an entry that the head does not cover yet. `head` is null while nothing was sealed.
    """
    head = sealing.newest()
    yield {"bundle": FORMAT, "head": head_json(head) if head else None}
    tree = sealing.tree(head.size) if head else None
    rows = AuditEntry.objects.select_related("text", "leaf").order_by("at", "id")
    if subject is not None:
        rows = rows.filter(subject_kind=subject[0], subject_id=subject[1])
    if start is not None:
        rows = rows.filter(at__gte=start)
    if end is not None:
        rows = rows.filter(at__lt=end)
    for entry in rows.iterator(chunk_size=2000):
        leaf: AuditLeaf | None = getattr(entry, "leaf", None)
        covered = tree is not None and leaf is not None and leaf.leaf_index < tree.size
        path = tree.inclusion(leaf.leaf_index) if covered and tree and leaf else None
        yield {"entry": entry_json(entry), "path": path_json(path)}


def entry_json(entry: AuditEntry) -> JSONObject:
    """One entry as contract §9 shows it. Erased text reads as null; the digest still verifies."""
    text: AuditText | None = getattr(entry, "text", None)
    leaf: AuditLeaf | None = getattr(entry, "leaf", None)
    return {
        "id": str(entry.pk),
        "at": rfc3339(entry.at),
        "action": entry.action,
        "actor": {"kind": entry.actor_kind, "id": entry.actor_id, "label": text.label if text else None},
        "subject": {"kind": entry.subject_kind, "id": entry.subject_id},
        "reason": text.reason if text else None,
        "before": text.before if text else None,
        "after": text.after if text else None,
        "request_id": entry.request_id,
        "trace_id": entry.trace_id,
        "policy_version": entry.policy_version,
        "digest": entry.digest,
        "previous_digest": entry.previous_digest,
        "text_commitment": entry.text_commitment,
        "salt": bytes(text.salt).hex() if text else None,
        "leaf_index": leaf.leaf_index if leaf else None,
    }
