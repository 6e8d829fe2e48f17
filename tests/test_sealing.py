"""Every audit entry gets one place in a tree whose heads are signed; nothing committed late is skipped."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import psycopg
import pytest

from tests import characters
from tests.own_database import use_own_database
from tests.sealing import KEY, as_role, seal_everything
from tests.servers import Servers


@pytest.fixture
def trail(django_db_setup: None, django_db_blocker: Any, servers: Servers, worker_number: int) -> Any:
    """A database for one test, with one approved handoff in it: its name."""
    name = f"sealed_gw{worker_number}_{characters.fresh('t').partition('-')[2]}"
    with django_db_blocker.unblock(), use_own_database(servers, name):
        characters.approved(characters.orchestrator())
        yield name


def leaves() -> list[tuple[int, str]]:
    from checkpoints.models import AuditLeaf

    return [(leaf.leaf_index, str(leaf.entry_id)) for leaf in AuditLeaf.objects.order_by("leaf_index")]


def test_every_entry_gets_one_place_and_the_head_is_signed(trail: str, servers: Servers) -> None:
    from checkpoints.models import AuditEntry, TreeHead
    from checkpoints.services import sealing
    from checkpoints.transparency import read_heads

    size = seal_everything(servers)
    assert size == AuditEntry.objects.count() > 3
    assert [index for index, _ in leaves()] == list(range(size))
    head = TreeHead.objects.get()
    [signed] = read_heads(head.note)
    KEY.verifier.check(signed)
    assert (signed.head.size, signed.head.root) == (size, sealing.tree(size).root())


def test_a_second_run_without_new_entries_signs_nothing(trail: str, servers: Servers) -> None:
    from checkpoints.models import TreeHead

    seal_everything(servers)
    before = leaves()
    seal_everything(servers)
    assert (leaves(), TreeHead.objects.count()) == (before, 1)


def test_a_batch_that_ends_inside_a_transaction_goes_on_there(
    trail: str, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    from checkpoints.models import AuditEntry, TreeHead
    from checkpoints.services import sealing, tree_verification

    monkeypatch.setattr(sealing, "MOST", 2)
    assert seal_everything(servers) == AuditEntry.objects.count()
    assert TreeHead.objects.count() > 1
    assert tree_verification.verify(key=KEY.verifier.text).problems == []


def test_the_application_cannot_write_the_tree(trail: str, servers: Servers) -> None:
    from django.db import ProgrammingError, connection

    from checkpoints.services import sealing

    with pytest.raises(ProgrammingError, match="permission denied"):
        sealing.seal(key=KEY)
    assert leaves() == []
    with as_role(servers, "sealer"), connection.cursor() as cursor:
        for statement in ("SELECT 1 FROM handoff", "DELETE FROM audit_leaf", "UPDATE tree_head SET size = 1"):
            with pytest.raises(ProgrammingError, match="permission denied"):
                cursor.execute(statement)


def test_what_commits_late_is_sealed_too(trail: str, servers: Servers) -> None:
    """An entry of a transaction that began before others and commits after they were sealed."""
    from checkpoints.models import AuditEntry
    from checkpoints.services import tree_verification

    seal_everything(servers)
    with psycopg.connect(servers.url("app", trail)) as slow:
        slow.execute("SELECT pg_current_xact_id()")
        slow.execute(
            "INSERT INTO audit_entry (id, at, action, actor_kind, actor_id, subject_kind, subject_id, subject_index,"
            " text_commitment, digest) VALUES (gen_random_uuid(), clock_timestamp(), 'token.created', 'system', 's',"
            " 'late', 'one', 0, %s, %s)",
            ["sha256:" + "0" * 64] * 2,
        )
        characters.approved(characters.orchestrator())
        sealed_meanwhile = seal_everything(servers, patience=0)
        assert sealed_meanwhile < AuditEntry.objects.count()
    assert seal_everything(servers) == AuditEntry.objects.count()
    assert "late" in set(AuditEntry.objects.filter(leaf__isnull=False).values_list("subject_kind", flat=True))
    assert tree_verification.verify(key=KEY.verifier.text).problems == []


def test_writers_that_roll_back_and_pause_leave_no_gap(trail: str, servers: Servers) -> None:
    from checkpoints.models import AuditEntry

    stop = time.monotonic() + 2.0
    statement = (
        "INSERT INTO audit_entry (id, at, action, actor_kind, actor_id, subject_kind, subject_id, subject_index,"
        " text_commitment, digest) VALUES (gen_random_uuid(), clock_timestamp(), 'token.created', 'system', 's',"
        " 'load', %s, 0, %s, %s)"
    )

    def write(number: int) -> None:
        chance = random.Random(number)  # noqa: S311 - no secret
        with psycopg.connect(servers.url("app", trail)) as connection:
            for count in range(10_000):
                if time.monotonic() > stop:
                    return
                connection.execute(statement, [f"{number}-{count}", *["sha256:" + "ab" * 32] * 2])
                time.sleep(chance.uniform(0, 0.02))
                connection.rollback() if chance.random() < 0.2 else connection.commit()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(6)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        seal_everything(servers, patience=0)
    size = seal_everything(servers)
    assert size == AuditEntry.objects.count() > 20
    assert [index for index, _ in leaves()] == list(range(size))


def test_two_sealers_at_once_give_each_entry_one_place(trail: str, servers: Servers) -> None:
    from checkpoints.models import AuditEntry

    characters.together(*[lambda: seal_everything(servers)] * 3)
    assert [index for index, _ in leaves()] == list(range(AuditEntry.objects.count()))


def test_after_a_restore_into_another_cluster_new_entries_are_sealed(trail: str, servers: Servers) -> None:
    """There transaction numbers start anew, below the horizon of the last head."""
    from checkpoints.models import AuditEntry, TreeHead
    from checkpoints.services import tree_verification

    seal_everything(servers)
    with psycopg.connect(servers.url("owner", trail)) as owner:
        owner.execute("ALTER TABLE tree_head DISABLE TRIGGER USER")
        owner.execute("UPDATE tree_head SET horizon = 9000000000000")
        owner.execute("ALTER TABLE tree_head ENABLE ALWAYS TRIGGER tree_head_written_once")
    characters.approved(characters.orchestrator())
    assert seal_everything(servers) == AuditEntry.objects.count()
    newest = TreeHead.objects.order_by("-size").first()
    assert newest is not None and newest.horizon < 9000000000000
    characters.approved(characters.orchestrator())
    assert seal_everything(servers) == AuditEntry.objects.count()
    assert not [p for p in tree_verification.verify(key=KEY.verifier.text).problems if "place" in p]
