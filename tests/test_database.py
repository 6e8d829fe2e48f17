"""The database that tests get is the product's: its roles, its rights, real commits."""

from __future__ import annotations

import psycopg
import pytest
from django.db import connection


@pytest.mark.django_db
def test_tests_connect_as_the_application_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user, current_setting('statement_timeout'), version()")
        user, timeout, version = cursor.fetchone()
    assert (user, timeout) == ("reviewqueue_app", "10s")
    assert version.startswith("PostgreSQL 18")


def test_a_write_is_seen_by_another_connection(db: None, server_environment: dict[str, str]) -> None:
    from django.contrib.sessions.models import Session
    from django.utils import timezone

    Session.objects.create(session_key="seen-by-another", session_data="", expire_date=timezone.now())
    with psycopg.connect(server_environment["DATABASE_OWNER_URL"]) as owner:
        found = owner.execute(
            "SELECT count(*) FROM django_session WHERE session_key = 'seen-by-another'"
        ).fetchone()
    assert found == (1,)


def test_the_application_role_can_neither_make_tables_nor_roles(
    server_environment: dict[str, str],
) -> None:
    with psycopg.connect(server_environment["DATABASE_URL"], autocommit=True) as app:
        for statement in ("CREATE TABLE extra (id int)", "CREATE ROLE extra"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                app.execute(statement)
