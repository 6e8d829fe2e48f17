"""Texts of edits that nobody saved yet."""

from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

GRANTS = """
GRANT SELECT, INSERT, UPDATE, DELETE ON edit_draft TO reviewqueue_app;
GRANT USAGE ON SEQUENCE edit_draft_id_seq TO reviewqueue_app;
"""
REVOKES = "REVOKE ALL ON edit_draft FROM reviewqueue_app;"


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0010_history_by_index"),
        ("reviewqueue", "0006_saved_views"),
    ]

    operations = [
        migrations.CreateModel(
            name="EditDraft",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("revision", models.PositiveIntegerField()),
                ("content_digest", models.CharField(max_length=71)),
                ("text", models.TextField()),
                ("reason", models.TextField(blank=True)),
                ("changed_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="edit_drafts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "handoff",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="edit_drafts",
                        to="checkpoints.handoff",
                    ),
                ),
            ],
            options={
                "db_table": "edit_draft",
                "indexes": [models.Index(fields=["changed_at"], name="edit_draft_oldest")],
                "constraints": [
                    models.UniqueConstraint(fields=("handoff", "author"), name="edit_draft_one_per_person")
                ],
            },
        ),
        migrations.RunSQL(GRANTS, REVOKES),
    ]
