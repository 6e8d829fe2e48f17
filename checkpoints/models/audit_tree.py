"""The tree over the audit trail. Only the sealer writes it; the application reads."""

from __future__ import annotations

from django.db import models

from checkpoints.models.append_only import AppendOnly
from checkpoints.models.audit import AuditEntry


class AuditLeaf(AppendOnly):
    """An entry's place in the tree. Places are dense from 0; none is ever given twice."""

    leaf_index = models.BigIntegerField(primary_key=True)
    entry = models.OneToOneField(AuditEntry, on_delete=models.PROTECT, related_name="leaf")
    leaf_hash = models.BinaryField(max_length=32)

    class Meta:
        db_table = "audit_leaf"


class AuditTile(AppendOnly):
    """The hash of a complete subtree of 2**level leaves, for levels 8, 16, …"""

    pk = models.CompositePrimaryKey("level", "position")
    level = models.SmallIntegerField()
    position = models.BigIntegerField()
    hash = models.BinaryField(max_length=32)

    class Meta:
        db_table = "audit_tile"


class TreeHead(AppendOnly):
    """What the tree was at one time, signed by the sealer's key."""

    size = models.BigIntegerField(primary_key=True)
    root = models.BinaryField(max_length=32)
    at = models.DateTimeField()
    horizon = models.BigIntegerField()  # transactions below it were all seen
    note = models.TextField()  # C2SP signed note
    verifier_key = models.TextField()

    class Meta:
        db_table = "tree_head"
