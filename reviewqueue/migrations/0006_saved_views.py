"""Lists of the queue under a name."""

from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import checkpoints.identifiers

GRANTS = "GRANT SELECT, INSERT, UPDATE, DELETE ON saved_view TO reviewqueue_app;"
REVOKES = "REVOKE ALL ON saved_view FROM reviewqueue_app;"


class Migration(migrations.Migration):
    dependencies = [
        ("reviewqueue", "0005_viewing_and_comments"),
    ]

    operations = [
        migrations.CreateModel(
            name="SavedView",
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
                ("name", models.CharField(max_length=60)),
                ("query", models.TextField()),
                ("shared", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "saved_view",
                "indexes": [
                    models.Index(
                        condition=models.Q(("shared", True)), fields=["name"], name="saved_view_shared"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "name"), name="saved_view_one_per_name")
                ],
            },
        ),
        migrations.RunSQL(GRANTS, REVOKES),
    ]
