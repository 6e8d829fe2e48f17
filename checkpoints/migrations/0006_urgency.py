"""The rank a person sorts by: the worst finding's, and that of high where the risk is high."""

from __future__ import annotations

import django.db.models.functions.comparison
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0005_returns"),
    ]

    operations = [
        migrations.AddField(
            model_name="handoff",
            name="urgency",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Case(
                    models.When(
                        risk="high",
                        then=django.db.models.functions.comparison.Greatest("severity", models.Value(3)),
                    ),
                    default=models.F("severity"),
                ),
                output_field=models.SmallIntegerField(),
            ),
        ),
        migrations.RemoveIndex(
            model_name="handoff",
            name="handoff_queue",
        ),
        migrations.RemoveIndex(
            model_name="handoff",
            name="handoff_escalated",
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                condition=models.Q(("state__in", ("flagged", "escalated"))),
                fields=["-urgency", "review_deadline", "id"],
                name="handoff_queue",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                condition=models.Q(("state", "escalated")),
                fields=["-urgency", "review_deadline", "id"],
                name="handoff_escalated",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                condition=models.Q(("risk", "high"), ("state__in", ("flagged", "escalated"))),
                fields=["-urgency", "review_deadline", "id"],
                name="handoff_high_risk",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                condition=models.Q(("approvals_given__gte", 1), ("state__in", ("flagged", "escalated"))),
                fields=["-urgency", "review_deadline", "id"],
                name="handoff_half_approved",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                condition=models.Q(("decided_at__isnull", False)),
                fields=["-decided_at"],
                name="handoff_last_decided",
            ),
        ),
    ]
