"""What the application's role may do on the tables of people, sessions and sign-in."""

from __future__ import annotations

from django.db import migrations

TABLES = (
    "account, account_groups, account_user_permissions, claim, auth_group, auth_group_permissions, auth_permission, "
    "django_content_type, django_session, account_emailaddress, account_emailconfirmation"
)
SEQUENCES = (
    "account_id_seq, account_groups_id_seq, account_user_permissions_id_seq, auth_group_id_seq, "
    "auth_group_permissions_id_seq, auth_permission_id_seq, django_content_type_id_seq, account_emailaddress_id_seq, "
    "account_emailconfirmation_id_seq"
)
GRANTS = f"""
GRANT SELECT, INSERT, UPDATE, DELETE ON {TABLES} TO reviewqueue_app;
GRANT USAGE ON SEQUENCE {SEQUENCES} TO reviewqueue_app;
GRANT SELECT ON django_migrations TO reviewqueue_app, reviewqueue_sealer;
"""
REVOKES = f"REVOKE ALL ON {TABLES} FROM reviewqueue_app;"


class Migration(migrations.Migration):
    dependencies = [
        ("reviewqueue", "0001_people"),
        ("checkpoints", "0002_guards"),
        ("sessions", "0001_initial"),
        ("account", "0009_emailaddress_unique_primary_email"),
    ]

    operations = [migrations.RunSQL(GRANTS, REVOKES)]
