"""What people looked at and what they said, and what the application may do with it."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

import checkpoints.identifiers

TABLES = "viewing, opened_finding, comment, mention"
GRANTS = """
GRANT SELECT, INSERT, UPDATE, DELETE ON viewing, opened_finding TO reviewqueue_app;
-- What was said stays as it was said: the application may only mark it as removed.
GRANT SELECT, INSERT, UPDATE (removed_at) ON comment TO reviewqueue_app;
GRANT SELECT, INSERT, UPDATE (seen_at) ON mention TO reviewqueue_app;
GRANT USAGE ON SEQUENCE viewing_id_seq, opened_finding_id_seq, mention_id_seq TO reviewqueue_app;
"""
REVOKES = f"REVOKE ALL ON {TABLES} FROM reviewqueue_app;"


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0003_history"),
        ("reviewqueue", "0004_policy_drafts"),
    ]

    operations = [
        migrations.CreateModel(
            name="Comment",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=checkpoints.identifiers.uuid7,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("revision", models.PositiveIntegerField()),
                ("pointer", models.TextField(blank=True)),
                ("text", models.TextField()),
                ("at", models.DateTimeField()),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="comments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "handoff",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="comments",
                        to="checkpoints.handoff",
                    ),
                ),
            ],
            options={
                "db_table": "comment",
            },
        ),
        migrations.CreateModel(
            name="Mention",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("seen_at", models.DateTimeField(null=True)),
                (
                    "comment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="mentions",
                        to="reviewqueue.comment",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="mentions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "mention",
            },
        ),
        migrations.CreateModel(
            name="Viewing",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("revision", models.PositiveIntegerField()),
                ("first_at", models.DateTimeField()),
                ("seconds", models.PositiveIntegerField(default=0)),
                ("diff_opened_at", models.DateTimeField(null=True)),
                (
                    "handoff",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="viewings",
                        to="checkpoints.handoff",
                    ),
                ),
                (
                    "viewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="viewings",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "viewing",
            },
        ),
        migrations.CreateModel(
            name="OpenedFinding",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("code", models.CharField(max_length=10)),
                ("pointer", models.TextField()),
                ("at", models.DateTimeField()),
                (
                    "viewing",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="opened",
                        to="reviewqueue.viewing",
                    ),
                ),
            ],
            options={
                "db_table": "opened_finding",
            },
        ),
        migrations.AddIndex(
            model_name="comment",
            index=models.Index(fields=["handoff", "at"], name="comment_of_handoff"),
        ),
        migrations.AddIndex(
            model_name="mention",
            index=models.Index(
                condition=models.Q(("seen_at__isnull", True)), fields=["person"], name="mention_unseen"
            ),
        ),
        migrations.AddConstraint(
            model_name="mention",
            constraint=models.UniqueConstraint(fields=("comment", "person"), name="mention_once_per_comment"),
        ),
        migrations.AddConstraint(
            model_name="viewing",
            constraint=models.UniqueConstraint(
                fields=("handoff", "revision", "viewer"), name="viewing_one_per_person"
            ),
        ),
        migrations.AddConstraint(
            model_name="openedfinding",
            constraint=models.UniqueConstraint(
                models.F("viewing"),
                models.F("code"),
                django.db.models.functions.text.MD5("pointer"),
                name="opened_finding_once",
            ),
        ),
        migrations.RunSQL(GRANTS, REVOKES),
    ]
