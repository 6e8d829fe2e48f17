"""Conflicts of a session are shown on its page: found by one step down an index, however many refusals there are."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0007_words"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="refusal",
            index=models.Index(
                fields=["orchestrator", "session_id", "-at"],
                condition=models.Q(("status", 409)),
                name="refusal_conflicts",
            ),
        ),
    ]
