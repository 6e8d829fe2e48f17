"""Writing the audit trail (contract §9). Always inside the transaction of the act it records."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from checkpoints.identifiers import uuid7
from checkpoints.transparency import commit_text, digest_members, entry_digest
from checkpoints.types import Actor, JSONValue

REFUSAL = "refusal"  # sealed only: each refusal is a chain of one


@dataclass(frozen=True, slots=True)
class Entry:
    """One act to record. `subject` is (kind, id)."""

    action: str
    actor: Actor
    subject: tuple[str, str]
    at: datetime
    reason: str | None = None
    before: JSONValue = None
    after: JSONValue = None
    policy_version: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """An entry with everything that its two table rows need."""

    entry: Entry
    id: UUID
    index: int
    previous_digest: str | None
    text_commitment: str
    salt: bytes
    digest: str


def build(entry: Entry, *, index: int, previous_digest: str | None) -> Row:
    """The entry as it will stand at `index` of its subject's chain."""
    salt = os.urandom(32)
    actor = entry.actor
    commitment = commit_text(
        salt=salt, label=actor.label, reason=entry.reason, before=entry.before, after=entry.after
    )
    entry_id = uuid7()
    members = digest_members(
        entry_id=entry_id,
        at=entry.at,
        action=entry.action,
        actor=(actor.kind, actor.id),
        subject=entry.subject,
        request_id=actor.request_id,
        trace_id=actor.trace_id,
        policy_version=entry.policy_version,
        previous_digest=previous_digest,
        text_commitment=commitment,
    )
    return Row(entry, entry_id, index, previous_digest, commitment, salt, entry_digest(members))


def record(entry: Entry) -> None:
    """Append one entry to its subject's chain."""
    record_many([entry])


def record_many(entries: Sequence[Entry]) -> None:
    """Append entries, in order, each to its subject's chain.

    Chains are ordered by the lock that the act already holds on its handoff, and by an advisory lock for
    all other subjects; the unique (subject, index) refuses a fork whatever happens. An act that read its time
    before it got that lock, while another wrote, is entered with the time at which it had it: in a chain time
    never runs backwards.
    """
    if not entries:
        return
    with connection.cursor() as cursor:
        heads = _heads(cursor, {entry.subject for entry in entries})
        rows = []
        for given in entries:
            head = heads.get(given.subject)
            entry = replace(given, at=head.locked_at) if head and head.at > given.at else given
            index, previous = (head.index + 1, head.digest) if head else (0, None)
            row = build(entry, index=index, previous_digest=previous)
            heads[entry.subject] = _Head(index, row.digest, entry.at, head.locked_at if head else entry.at)
            rows.append(row)
        cursor.executemany(INSERT, [parameters(row) for row in rows])


@dataclass(frozen=True, slots=True)
class _Head:
    """The last entry of a chain. `locked_at`: the database's time once nobody else could write to it."""

    index: int
    digest: str
    at: datetime
    locked_at: datetime


def _heads(cursor: CursorWrapper, subjects: Iterable[tuple[str, str]]) -> dict[tuple[str, str], _Head]:
    ordered = sorted(subjects)
    for kind, identifier in ordered:
        if kind not in ("handoff", REFUSAL):
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{kind}:{identifier}"])
    cursor.execute(
        """
        SELECT wanted.kind, wanted.id, head.subject_index, head.digest, head.at, clock_timestamp()
        FROM unnest(%s::text[], %s::text[]) AS wanted (kind, id)
        CROSS JOIN LATERAL (
            SELECT subject_index, digest, at FROM audit_entry
            WHERE subject_kind = wanted.kind AND subject_id = wanted.id
            ORDER BY subject_index DESC LIMIT 1
        ) AS head
        """,
        [[kind for kind, _ in ordered], [identifier for _, identifier in ordered]],
    )
    return {(kind, key): _Head(*head) for kind, key, *head in cursor.fetchall()}


# One statement, two tables: the entry and its erasable text cannot part.
INSERT = """
    WITH entry AS (
        INSERT INTO audit_entry (id, at, action, actor_kind, actor_id, subject_kind, subject_id, subject_index,
            request_id, trace_id, policy_version, previous_digest, text_commitment, digest)
        VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
        RETURNING id
    )
    INSERT INTO audit_text (entry_id, salt, label, reason, before, after)
    SELECT id, %s, %s, %s, %s::jsonb, %s::jsonb FROM entry
"""


def parameters(row: Row) -> list[Any]:
    """The values of INSERT, in its order."""
    entry, actor = row.entry, row.entry.actor
    return [
        row.id,
        entry.at,
        entry.action,
        actor.kind,
        actor.id,
        entry.subject[0],
        entry.subject[1],
        row.index,
        actor.request_id,
        actor.trace_id,
        entry.policy_version,
        row.previous_digest,
        row.text_commitment,
        row.digest,
        row.salt,
        actor.label,
        entry.reason,
        _json(entry.before),
        _json(entry.after),
    ]


def _json(value: JSONValue) -> str | None:
    return None if value is None else json.dumps(value)
