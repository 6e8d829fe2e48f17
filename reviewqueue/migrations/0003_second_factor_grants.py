"""What the application's role may do on the table of second factors."""

from __future__ import annotations

from django.db import migrations

GRANTS = """
GRANT SELECT, INSERT, UPDATE, DELETE ON mfa_authenticator TO reviewqueue_app;
GRANT USAGE ON SEQUENCE mfa_authenticator_id_seq TO reviewqueue_app;
"""
REVOKES = "REVOKE ALL ON mfa_authenticator FROM reviewqueue_app;"


class Migration(migrations.Migration):
    dependencies = [
        ("reviewqueue", "0002_grants"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [migrations.RunSQL(GRANTS, REVOKES)]
