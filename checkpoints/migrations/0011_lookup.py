"""Looking up a checkpoint or session by the beginning of its name, whatever its case: one step down an index each."""

from __future__ import annotations

import django.db.models.functions.comparison
import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0010_history_by_index"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                django.db.models.functions.comparison.Collate(
                    django.db.models.functions.text.Lower("checkpoint_id"), "C"
                ),
                name="handoff_lookup",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                django.db.models.functions.comparison.Collate(
                    django.db.models.functions.text.Lower("source_id"), "C"
                ),
                condition=models.Q(("source_id__isnull", False)),
                name="handoff_source_lookup",
            ),
        ),
        migrations.AddIndex(
            model_name="session",
            index=models.Index(
                django.db.models.functions.comparison.Collate(
                    django.db.models.functions.text.Lower("session_id"), "C"
                ),
                name="session_lookup",
            ),
        ),
    ]
