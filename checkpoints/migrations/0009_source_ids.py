"""Look up a checkpoint's own id within its run, whatever its turn (EH-01)."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0008_refusal_conflicts"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="handoff",
            name="handoff_by_source_id",
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                fields=["session", "run_id", "source_id", "turn_id", "-handoff_sequence"],
                condition=models.Q(("run_id__isnull", False)),
                name="handoff_by_source_id",
            ),
        ),
    ]
