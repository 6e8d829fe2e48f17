"""How somebody wants their pages: keys of their own, and where to go after a decision."""

from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

GRANTS = "GRANT SELECT, INSERT, UPDATE, DELETE ON preference TO reviewqueue_app;"
REVOKES = "REVOKE ALL ON preference FROM reviewqueue_app;"


class Migration(migrations.Migration):
    dependencies = [
        ("reviewqueue", "0007_edit_drafts"),
    ]

    operations = [
        migrations.CreateModel(
            name="Preference",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="preference",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("single_keys", models.BooleanField(default=True)),
                ("keys", models.JSONField(default=dict)),
                (
                    "after_decision",
                    models.CharField(
                        choices=[
                            ("next", "Open the next of the list that I came from"),
                            ("list", "Go back to the list"),
                            ("stay", "Stay with the handoff"),
                        ],
                        default="next",
                        max_length=4,
                    ),
                ),
            ],
            options={
                "db_table": "preference",
            },
        ),
        migrations.RunSQL(GRANTS, REVOKES),
    ]
