"""The audit trail is recomputed from its rows, and what was rewritten is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests import characters
from tests.calling import run, run_json
from tests.own_database import use_own_database
from tests.servers import Servers


@pytest.fixture
def audited(own_database: str) -> str:
    """A handoff with a chain of its own; gives its id."""
    return str(characters.approved(characters.orchestrator()).pk)


def test_an_untouched_audit_trail_verifies(audited: str) -> None:
    from checkpoints.models import AuditEntry

    code, answer = run_json("verify_audit")
    assert (code, answer["valid"], answer["broken"]) == (0, True, 0)
    assert answer["entries"] == AuditEntry.objects.count()
    chains = AuditEntry.objects.values("subject_kind", "subject_id").distinct().count()
    assert answer["chains"] == chains
    assert f"{answer['entries']} entries" in run("verify_audit")[1]


TAMPERED = {
    "another actor": (
        "UPDATE audit_entry SET actor_id = 'u_somebody' WHERE id = %s",
        "digest does not match",
    ),
    "another time": (
        "UPDATE audit_entry SET at = at - interval '1 day' WHERE id = %s",
        "digest does not match",
    ),
    "another reason": ("UPDATE audit_text SET reason = 'none' WHERE entry_id = %s", "text_commitment"),
    "another salt": ("UPDATE audit_text SET salt = sha256('x') WHERE entry_id = %s", "text_commitment"),
    "another link": ("UPDATE audit_entry SET previous_digest = 'sha256:0' WHERE id = %s", "previous_digest"),
    "a lost entry": (
        "WITH gone AS (DELETE FROM audit_text WHERE entry_id = %s RETURNING entry_id) "
        "DELETE FROM audit_entry WHERE id IN (SELECT entry_id FROM gone)",
        "is missing",
    ),
}


@pytest.fixture
def tamperable(
    django_db_setup: None, django_db_blocker: Any, servers: Servers, worker_number: int
) -> Iterator[tuple[str, list[Any]]]:
    """A database for one test, with one approved handoff: its name and the entries of the handoff."""
    from checkpoints.models import AuditEntry

    name = f"tampered_gw{worker_number}_{characters.fresh('t').partition('-')[2]}"
    with django_db_blocker.unblock(), use_own_database(servers, name):
        handoff = characters.approved(characters.orchestrator())
        yield name, list(AuditEntry.objects.filter(subject_id=str(handoff.pk)).order_by("subject_index"))


def rewrite(servers: Servers, database: str, statement: str, entry_id: object) -> None:
    """What the owner of the tables can do: switch the triggers off and rewrite rows."""
    with psycopg.connect(servers.url("owner", database)) as owner:
        for table in ("audit_entry", "audit_text"):
            owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        owner.execute(statement, [entry_id])


@pytest.mark.parametrize("case", TAMPERED)
def test_a_tampered_entry_is_named(tamperable: tuple[str, list[Any]], servers: Servers, case: str) -> None:
    database, chain = tamperable
    statement, problem = TAMPERED[case]
    assert run("verify_audit")[0] == 0
    rewrite(servers, database, statement, chain[1].pk)
    code, answer = run_json("verify_audit")
    named = chain[2] if case == "a lost entry" else chain[1]
    assert (code, answer["valid"]) == (2, False)
    assert answer["first"][0]["entry_id"] == str(named.pk)
    assert problem in answer["first"][0]["problem"]
    assert str(named.pk) in run("verify_audit")[1]


def test_erased_text_leaves_a_trail_that_still_verifies(
    tamperable: tuple[str, list[Any]], servers: Servers
) -> None:
    database, chain = tamperable
    rewrite(servers, database, "DELETE FROM audit_text WHERE entry_id = %s", chain[0].pk)
    code, answer = run_json("verify_audit")
    assert (code, answer["erased"], answer["broken"]) == (0, 1, 0)


def test_a_trail_longer_than_a_page_is_read_whole(own_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from checkpoints.models import AuditEntry
    from checkpoints.services import audit_verification

    characters.approved(characters.orchestrator())
    monkeypatch.setattr(audit_verification, "PAGE", 3)
    read = [entry.pk for entry in audit_verification.entries_in_order()]
    assert len(read) == len(set(read)) == AuditEntry.objects.count() > 3
