"""The tree over the audit trail. The sealer writes it, the application reads it, nobody changes it."""

from __future__ import annotations

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

guards = import_module("checkpoints.migrations.0002_guards")

TABLES = ("audit_leaf", "audit_tile", "tree_head")
GRANTS = """
GRANT SELECT, INSERT ON audit_leaf, audit_tile, tree_head TO reviewqueue_sealer;
GRANT SELECT ON audit_leaf, audit_tile, tree_head TO reviewqueue_app;
"""
UNGRANT = "REVOKE ALL ON audit_leaf, audit_tile, tree_head FROM reviewqueue_app, reviewqueue_sealer;"


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0003_history"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditTile",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "level", "position", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("level", models.SmallIntegerField()),
                ("position", models.BigIntegerField()),
                ("hash", models.BinaryField(max_length=32)),
            ],
            options={
                "db_table": "audit_tile",
            },
        ),
        migrations.CreateModel(
            name="TreeHead",
            fields=[
                ("size", models.BigIntegerField(primary_key=True, serialize=False)),
                ("root", models.BinaryField(max_length=32)),
                ("at", models.DateTimeField()),
                ("horizon", models.BigIntegerField()),
                ("note", models.TextField()),
                ("verifier_key", models.TextField()),
            ],
            options={
                "db_table": "tree_head",
            },
        ),
        migrations.CreateModel(
            name="AuditLeaf",
            fields=[
                ("leaf_index", models.BigIntegerField(primary_key=True, serialize=False)),
                ("leaf_hash", models.BinaryField(max_length=32)),
                (
                    "entry",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="leaf",
                        to="checkpoints.auditentry",
                    ),
                ),
            ],
            options={
                "db_table": "audit_leaf",
            },
        ),
        *[
            migrations.RunSQL(guards.GUARD.format(table=table), guards.UNGUARD.format(table=table))
            for table in TABLES
        ],
        migrations.RunSQL(GRANTS, UNGRANT),
    ]
