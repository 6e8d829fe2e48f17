"""History in one step down an index each: pairs of roles by falling number, and predecessors that were stopped."""

from __future__ import annotations

import django.db.models.expressions
import django.db.models.functions.comparison
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0009_source_ids"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="handoff",
            name="handoff_pair",
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                models.F("session"),
                django.db.models.functions.comparison.Coalesce("task_id", models.Value("")),
                django.db.models.functions.comparison.Coalesce("agent_role", models.Value("")),
                models.OrderBy(models.F("handoff_sequence"), descending=True),
                condition=models.Q(("state__in", ["aborted", "cancelled"])),
                name="handoff_stopped",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                models.F("session"),
                models.F("task_id"),
                models.F("agent_role"),
                models.F("target_role"),
                django.db.models.expressions.CombinedExpression(
                    models.F("handoff_sequence"), "*", models.Value(-1)
                ),
                name="handoff_pair",
            ),
        ),
    ]
