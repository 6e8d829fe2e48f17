"""Drafts of the policy and their simulations, with what the application may do on them."""

from __future__ import annotations

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import checkpoints.identifiers

TABLES = "policy_draft, policy_simulation, policy_simulation_part, policy_simulation_difference"
GRANTS = """
GRANT SELECT, INSERT, UPDATE ON policy_draft TO reviewqueue_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON policy_simulation, policy_simulation_part TO reviewqueue_app;
GRANT SELECT, INSERT, DELETE ON policy_simulation_difference TO reviewqueue_app;
GRANT USAGE ON SEQUENCE policy_simulation_part_id_seq, policy_simulation_difference_id_seq TO reviewqueue_app;
"""
REVOKES = f"REVOKE ALL ON {TABLES} FROM reviewqueue_app;"


class Migration(migrations.Migration):
    dependencies = [
        ("checkpoints", "0003_history"),
        ("reviewqueue", "0003_second_factor_grants"),
    ]

    operations = [
        migrations.CreateModel(
            name="PolicyDraft",
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
                ("document", models.JSONField()),
                ("note", models.TextField(blank=True)),
                ("based_on", models.IntegerField()),
                ("version", models.BigIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                ("published_version", models.IntegerField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="policy_drafts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "policy_draft",
            },
        ),
        migrations.CreateModel(
            name="PolicySimulation",
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
                ("draft_version", models.BigIntegerField()),
                ("document", models.JSONField()),
                ("days", models.PositiveIntegerField()),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("total", models.PositiveIntegerField()),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("failure", models.TextField(blank=True)),
                ("tally", models.JSONField(null=True)),
                (
                    "draft",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="simulations",
                        to="reviewqueue.policydraft",
                    ),
                ),
                (
                    "started_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "db_table": "policy_simulation",
            },
        ),
        migrations.CreateModel(
            name="SimulatedDifference",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("received_at", models.DateTimeField()),
                ("outcome_before", models.CharField(max_length=10)),
                ("outcome_after", models.CharField(max_length=10)),
                (
                    "reasons_before",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20)),
                ),
                (
                    "reasons_after",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20)),
                ),
                (
                    "codes_before",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10)),
                ),
                (
                    "codes_after",
                    django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10)),
                ),
                (
                    "handoff",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="checkpoints.handoff",
                    ),
                ),
                (
                    "simulation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="differences",
                        to="reviewqueue.policysimulation",
                    ),
                ),
            ],
            options={
                "db_table": "policy_simulation_difference",
            },
        ),
        migrations.CreateModel(
            name="SimulationPart",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("after_at", models.DateTimeField(null=True)),
                ("after_id", models.UUIDField(null=True)),
                ("last_at", models.DateTimeField()),
                ("last_id", models.UUIDField()),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("tally", models.JSONField(null=True)),
                (
                    "simulation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="reviewqueue.policysimulation",
                    ),
                ),
            ],
            options={
                "db_table": "policy_simulation_part",
            },
        ),
        migrations.AddIndex(
            model_name="policydraft",
            index=models.Index(
                condition=models.Q(("closed_at__isnull", True)),
                fields=["-changed_at"],
                name="policy_draft_open",
            ),
        ),
        migrations.AddIndex(
            model_name="policysimulation",
            index=models.Index(
                condition=models.Q(("finished_at__isnull", True)),
                fields=["started_at"],
                name="policy_simulation_running",
            ),
        ),
        migrations.AddIndex(
            model_name="simulateddifference",
            index=models.Index(fields=["simulation", "-received_at", "-id"], name="policy_difference_newest"),
        ),
        migrations.RunSQL(GRANTS, REVOKES),
    ]
