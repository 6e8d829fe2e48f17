"""Look-ups of history that cost the same in every session: indexes for each walk, tables for answers and calls."""

from __future__ import annotations

import django.db.models.deletion
import django.db.models.functions.comparison
from django.db import migrations, models

GRANTS = """
GRANT SELECT, INSERT ON given_answer, tool_call TO reviewqueue_app;
GRANT USAGE ON SEQUENCE given_answer_id_seq, tool_call_id_seq TO reviewqueue_app;
"""
REVOKES = "REVOKE ALL ON given_answer, tool_call FROM reviewqueue_app;"

# Longer names are cut with a digest, which SQL cannot make here; no page has shown such a decision yet.
ANSWERS = """
INSERT INTO given_answer (session_id, decision_id, handoff_id, handoff_sequence, round, question, options, answer, at)
SELECT h.session_id, item->>'decision_id', h.id, h.handoff_sequence, d.round, coalesce(item->>'question', ''),
    coalesce(item->'options', '[]'::jsonb), item->>'answer', d.at
FROM decision d JOIN handoff h ON h.id = d.handoff_id CROSS JOIN LATERAL jsonb_array_elements(d.answers) AS item
WHERE d.action = 'approve' AND octet_length(item->>'decision_id') <= 600
"""

FORGET = "DELETE FROM given_answer"


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0002_guards"),
    ]

    operations = [
        migrations.CreateModel(
            name="GivenAnswer",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("decision_id", models.TextField()),
                ("handoff_sequence", models.BigIntegerField()),
                ("round", models.PositiveIntegerField()),
                ("question", models.TextField()),
                ("options", models.JSONField()),
                ("answer", models.TextField()),
                ("at", models.DateTimeField()),
            ],
            options={
                "db_table": "given_answer",
            },
        ),
        migrations.CreateModel(
            name="ToolCall",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("call_id", models.TextField()),
                ("result", models.CharField(max_length=71)),
                ("at", models.DateTimeField()),
            ],
            options={
                "db_table": "tool_call",
            },
        ),
        migrations.RemoveIndex(
            model_name="handoff",
            name="handoff_history",
        ),
        migrations.RemoveIndex(
            model_name="handoff",
            name="handoff_by_key",
        ),
        migrations.RemoveIndex(
            model_name="handoff",
            name="handoff_by_run",
        ),
        migrations.AddField(
            model_name="handoff",
            name="judged_after",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                condition=models.Q(("checked_at__isnull", False)),
                fields=["session", "-handoff_sequence"],
                name="handoff_judged",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                models.F("session"),
                django.db.models.functions.comparison.Coalesce("task_id", models.Value("")),
                django.db.models.functions.comparison.Coalesce("agent_role", models.Value("")),
                models.OrderBy(models.F("handoff_sequence"), descending=True),
                condition=models.Q(("state__in", ("rejected", "aborted", "cancelled")), _negated=True),
                name="handoff_history",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                condition=models.Q(("run_id__isnull", False)),
                fields=["session", "run_id", "turn_id", "source_id", "-handoff_sequence"],
                name="handoff_by_source_id",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                fields=["session", "task_id", "agent_role", "target_role", "-handoff_sequence"],
                name="handoff_pair",
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                fields=["orchestrator", "idempotency_key", "-received_at"], name="handoff_by_key"
            ),
        ),
        migrations.AddIndex(
            model_name="handoff",
            index=models.Index(
                condition=models.Q(("run_id__isnull", False)),
                fields=["orchestrator", "run_id", "session", "-handoff_sequence"],
                name="handoff_by_run",
            ),
        ),
        migrations.AddField(
            model_name="givenanswer",
            name="handoff",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="checkpoints.handoff",
            ),
        ),
        migrations.AddField(
            model_name="givenanswer",
            name="session",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="answers",
                to="checkpoints.session",
            ),
        ),
        migrations.AddField(
            model_name="toolcall",
            name="orchestrator",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="checkpoints.orchestrator",
            ),
        ),
        migrations.AddField(
            model_name="toolcall",
            name="session",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="checkpoints.session",
            ),
        ),
        migrations.AddIndex(
            model_name="givenanswer",
            index=models.Index(fields=["session", "decision_id", "-at"], name="given_answer_by_decision"),
        ),
        migrations.AddConstraint(
            model_name="toolcall",
            constraint=models.UniqueConstraint(
                fields=("orchestrator", "call_id", "result", "session"), name="tool_call_once_per_session"
            ),
        ),
        migrations.AddIndex(
            model_name="decision",
            index=models.Index(fields=["-at"], name="decision_newest"),
        ),
        migrations.RunSQL(ANSWERS, FORGET),
        migrations.RunSQL(GRANTS, REVOKES),
    ]
