"""What the database refuses, whoever asks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import psycopg
import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction

from checkpoints.models import AuditEntry, Checkpoint, Handoff
from checkpoints.models.append_only import AppendOnlyError
from tests import characters

WRITTEN_ONCE = [
    "audit_entry", "audit_text", "checkpoint", "checkpoint_body", "check_run", "decision", "policy_version", "refusal",
]  # fmt: skip


@pytest.fixture
def owner(db: None, server_environment: dict[str, str]) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server_environment["DATABASE_OWNER_URL"]) as found:
        yield found
        found.rollback()


@pytest.mark.parametrize("table", WRITTEN_ONCE)
def test_not_even_the_owner_empties_a_table_of_facts(owner: psycopg.Connection, table: str) -> None:
    with pytest.raises(psycopg.errors.RestrictViolation):
        owner.execute(f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE checkpoint SET size = 1",
        "DELETE FROM checkpoint_body",
        "UPDATE check_run SET outcome = 'cleared'",
        "UPDATE audit_entry SET action = 'nothing.happened'",
        "DELETE FROM audit_text",
    ],
)
def test_the_owner_rewrites_no_fact(owner: psycopg.Connection, statement: str) -> None:
    characters.judged(characters.orchestrator(), characters.document())
    with pytest.raises(psycopg.errors.RestrictViolation):
        owner.execute(statement)


def test_the_application_role_may_not_even_try(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document())
    before = Checkpoint.objects.get(handoff=handoff).size
    for statement in (
        "UPDATE checkpoint SET size = 1",
        "DELETE FROM audit_entry",
        "TRUNCATE audit_entry",
        "ALTER TABLE audit_entry DISABLE TRIGGER ALL",
        "UPDATE audit_text SET reason = 'x'",
    ):
        with (
            pytest.raises(ProgrammingError, match=r"permission denied|must be owner"),
            transaction.atomic(),
            connection.cursor() as cursor,
        ):
            cursor.execute(statement)
    assert Checkpoint.objects.get(handoff=handoff).size == before


def test_the_model_refuses_before_the_database_has_to(db: None) -> None:
    handoff = characters.post(characters.orchestrator(), characters.document())
    row = Checkpoint.objects.get(handoff=handoff)
    for change in (row.save, row.delete):
        with pytest.raises(AppendOnlyError):
            change()


def test_nothing_is_cleared_without_a_complete_run(db: None) -> None:
    handoff = characters.post(characters.orchestrator(), characters.document())
    with pytest.raises(IntegrityError, match="without a complete check run"):
        Handoff.objects.filter(pk=handoff.pk).update(state="cleared")
    assert Handoff.objects.get(pk=handoff.pk).state == "received"


def test_nothing_is_approved_without_its_ticket(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document(task_status="completed"))
    with pytest.raises(IntegrityError, match="without its ticket"):
        Handoff.objects.filter(pk=handoff.pk).update(
            state="approved", approval_ticket_reference="APR-2026-000000"
        )
    with pytest.raises(IntegrityError):
        Handoff.objects.filter(pk=handoff.pk).update(state="approved", approval_ticket_reference=None)
    assert Handoff.objects.get(pk=handoff.pk).state == "flagged"


def test_nothing_goes_out_that_was_neither_cleared_nor_approved(db: None) -> None:
    handoff = characters.judged(characters.orchestrator(), characters.document(task_status="completed"))
    with pytest.raises(IntegrityError, match="cannot go out"):
        Handoff.objects.filter(pk=handoff.pk).update(state="dispatched")


def test_the_names_of_a_handoff_never_change(db: None) -> None:
    handoff = characters.post(characters.orchestrator(), characters.document())
    with pytest.raises(IntegrityError, match="names of a handoff"):
        Handoff.objects.filter(pk=handoff.pk).update(checkpoint_id="another")


def test_an_audit_entry_cannot_be_dated_back(db: None) -> None:
    handoff = characters.post(characters.orchestrator(), characters.document())
    entry = AuditEntry.objects.get(subject_id=str(handoff.pk))
    with pytest.raises(IntegrityError, match="outside of its transaction"), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO audit_entry (id, at, action, actor_kind, actor_id, subject_kind, subject_id, subject_index,"
            " text_commitment, digest) VALUES (gen_random_uuid(), %s, 'x.y', 'system', 'x', 'policy', 'x', 0, '', '')",
            [datetime(2001, 1, 1, tzinfo=UTC)],
        )
    assert entry.xid > 0


def test_the_transaction_id_of_an_entry_cannot_be_chosen(db: None) -> None:
    with pytest.raises(ProgrammingError, match="permission denied"), connection.cursor() as cursor:
        cursor.execute("INSERT INTO audit_entry (id, xid) VALUES (gen_random_uuid(), 3)")


def test_every_table_names_the_rights_of_the_application(owner: psycopg.Connection) -> None:
    tables = {
        row[0]
        for row in owner.execute(
            "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p')"
        )
    }
    granted = {
        row[0]
        for row in owner.execute(
            "SELECT DISTINCT table_name FROM information_schema.role_table_grants WHERE grantee = 'reviewqueue_app'"
        )
    }
    assert tables - granted == set(), "give these tables their grants in a migration"


def test_facts_are_never_granted_for_change(owner: psycopg.Connection) -> None:
    changing = {
        (row[0], row[1])
        for row in owner.execute(
            "SELECT table_name, privilege_type FROM information_schema.role_table_grants "
            "WHERE grantee IN ('reviewqueue_app', 'reviewqueue_sealer') AND table_name = ANY(%s)",
            [WRITTEN_ONCE],
        )
        if row[1] not in ("SELECT", "INSERT")
    }
    assert changing == set()
