"""What a run left behind, as plain values: the checker's whole input."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import psycopg
from psycopg.rows import dict_row

type Row = dict[str, Any]

# Read by hand-written SQL and by nothing of the product: what a model or a manager hides would be hidden here, too.
TABLES: Mapping[str, str] = {
    "handoff": """
        SELECT h.id, h.checkpoint_id, s.session_id, h.handoff_sequence, h.id_assigned, h.body_digest,
            h.content_digest, h.revision, h.state, h.round, h.approval_ticket_reference, h.last_attempt,
            h.max_retries, h.acknowledge_by, h.review_deadline, h.idempotency_key
        FROM handoff h JOIN session s ON s.id = h.session_id ORDER BY h.received_at, h.id
    """,
    "checkpoint": """
        SELECT c.handoff_id, c.revision, c.content_digest, c.body_digest, b.content
        FROM checkpoint c LEFT JOIN checkpoint_body b ON b.checkpoint_id = c.id ORDER BY c.handoff_id, c.revision
    """,
    "check_run": """
        SELECT handoff_id, revision, complete, outcome, risk, policy_version FROM check_run
        ORDER BY handoff_id, revision, finished_at
    """,
    "attempt": """
        SELECT handoff_id, number, revision, content_digest, dispatched_at, ended_at, outcome FROM attempt
        ORDER BY handoff_id, number
    """,
    "ticket": """
        SELECT handoff_id, reference, jti, revision, content_digest, approvers, decided_at, redeemed_at, revoked_at
        FROM ticket ORDER BY reference
    """,
    "decision": """
        SELECT id, handoff_id, round, revision, content_digest, action, actor_kind, actor_id, role, target, at
        FROM decision
        ORDER BY at, id
    """,
    "audit": """
        SELECT e.id, e.at, e.action, e.actor_kind, e.actor_id, e.subject_kind, e.subject_id, e.subject_index,
            e.request_id, e.trace_id, e.policy_version, e.previous_digest, e.text_commitment, e.digest,
            t.salt, t.label, t.reason, t.before, t.after
        FROM audit_entry e LEFT JOIN audit_text t ON t.entry_id = e.id
        ORDER BY e.subject_kind, e.subject_id, e.subject_index
    """,
    "refusal": "SELECT id, status, type, body_digest FROM refusal ORDER BY at, id",
    "leaf": "SELECT leaf_index, entry_id, leaf_hash FROM audit_leaf ORDER BY leaf_index",
    "head": "SELECT size, root, note FROM tree_head ORDER BY size",
    "policy": "SELECT version, document FROM policy_version ORDER BY version",
    "account": "SELECT public_id, username, role FROM account ORDER BY username",
    "clock": "SELECT clock_timestamp() AS now",
}


def read(url: str) -> dict[str, list[Row]]:
    """All tables as they stood at one moment."""
    with psycopg.connect(url, row_factory=dict_row) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        return {name: connection.execute(statement).fetchall() for name, statement in TABLES.items()}


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise: which, how, and of whom."""

    rule: str
    text: str
    ids: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class History:
    """Journal of the clients, effects of the receivers, rows of the database, points that nobody hit.

    `heads` is the text of the sealer's file outside of the database, `sealer_key` its public key (32 bytes);
    `outages` are the times without a broker, as (went, came back) in unix time.
    """

    journal: list[Row]
    effects: list[Row]
    rows: dict[str, list[Row]]
    jwks: Row
    sealer_key: bytes
    heads: str = ""
    points_missing: list[str] = field(default_factory=list)
    outages: list[tuple[float, float]] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[Row]:
        return [entry for entry in self.journal if entry["kind"] == kind]

    @cached_property
    def by_checkpoint_id(self) -> dict[str, Row]:
        return {row["checkpoint_id"]: row for row in self.rows["handoff"]}

    @cached_property
    def by_handoff(self) -> dict[str, dict[Any, list[Row]]]:
        """Table name to handoff id to its rows."""
        found: dict[str, dict[Any, list[Row]]] = {}
        for table in ("checkpoint", "check_run", "attempt", "ticket", "decision"):
            grouped: dict[Any, list[Row]] = defaultdict(list)
            for row in self.rows[table]:
                grouped[row["handoff_id"]].append(row)
            found[table] = grouped
        return found

    @cached_property
    def chains(self) -> dict[tuple[str, str], list[Row]]:
        """Audit entries by subject, in the order of their index."""
        found: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.rows["audit"]:
            found[row["subject_kind"], row["subject_id"]].append(row)
        for entries in found.values():
            entries.sort(key=lambda entry: int(entry["subject_index"]))
        return found

    def attempt(self, checkpoint_id: str, number: int) -> Row | None:
        handoff = self.by_checkpoint_id.get(checkpoint_id)
        rows = self.by_handoff["attempt"].get(handoff["id"], []) if handoff else []
        return next((row for row in rows if row["number"] == number), None)
