"""Returns that were promised: who promised one, and until when it is awaited."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("checkpoints", "0004_sealing")]

    operations = [
        migrations.AddField(
            "handoff", "expected_return", models.BooleanField(db_default=False, default=False)
        ),
        migrations.AddField("handoff", "return_by", models.DateTimeField(null=True)),
        migrations.AddIndex(
            "handoff",
            models.Index(
                condition=models.Q(("return_by__isnull", False)),
                fields=["return_by"],
                name="handoff_return_due",
            ),
        ),
    ]
