"""Recomputing the audit trail: every digest, every link, every commitment, from the rows alone (contract §9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import connection

from checkpoints.models import AuditEntry, AuditText
from checkpoints.transparency import commit_text, digest_members, entry_digest

PAGE = 2000
# Chain order, read from the index that also refuses forks; a page of rows at a time, so that size is no matter.
NEXT_PAGE = """
    SELECT id FROM audit_entry
    WHERE (subject_kind, subject_id, subject_index) > (%s, %s, %s)
    ORDER BY subject_kind, subject_id, subject_index LIMIT %s
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """One entry that does not verify, and why."""

    entry_id: str
    subject: str  # kind:id
    index: int
    problem: str


@dataclass
class Findings:
    """What a walk over the trail has seen so far."""

    entries: int = 0
    chains: int = 0
    erased: int = 0  # entries whose text and salt are gone: their commitment cannot be opened any more
    broken: int = 0
    first: list[Fault] = field(default_factory=list)  # the first ones in chain order, at most 20

    def note(self, fault: Fault) -> None:
        self.broken += 1
        if len(self.first) < 20:
            self.first.append(fault)


def count() -> int:
    """How many entries there are now."""
    return AuditEntry.objects.count()


def verify(entries: Iterator[AuditEntry]) -> Findings:
    """Walk entries in chain order (see `entries_in_order`) and recompute each from its row and its predecessor."""
    found, previous = Findings(), None
    for entry in entries:
        if not _same_chain(previous, entry):
            previous = None
            found.chains += 1
        found.entries += 1
        text = getattr(entry, "text", None)
        found.erased += text is None
        problem = _problem(entry, previous, text)
        if problem:
            found.note(
                Fault(str(entry.pk), f"{entry.subject_kind}:{entry.subject_id}", entry.subject_index, problem)
            )
        previous = entry
    return found


def entries_in_order() -> Iterator[AuditEntry]:
    """All entries with their texts, chain by chain. What is appended meanwhile may or may not be among them."""
    after: tuple[str, str, int] = ("", "", -1)
    while True:
        with connection.cursor() as cursor:
            cursor.execute(NEXT_PAGE, [*after, PAGE])
            ids = [row[0] for row in cursor.fetchall()]
        if not ids:
            return
        rows = AuditEntry.objects.select_related("text").in_bulk(ids)
        for pk in ids:
            yield rows[pk]
        last = rows[ids[-1]]
        after = (last.subject_kind, last.subject_id, last.subject_index)


def _same_chain(previous: AuditEntry | None, entry: AuditEntry) -> bool:
    return previous is not None and (previous.subject_kind, previous.subject_id) == (
        entry.subject_kind,
        entry.subject_id,
    )


def _problem(entry: AuditEntry, previous: AuditEntry | None, text: AuditText | None) -> str | None:
    """The first thing that is wrong with an entry. `previous` is the entry before it in its chain."""
    expected = previous.subject_index + 1 if previous else 0
    if entry.subject_index != expected:
        return f"the entry at index {expected} of this chain is missing"
    if entry.previous_digest != (previous.digest if previous else None):
        return "previous_digest is not the digest of the entry before it"
    if entry.digest != _digest(entry):
        return "digest does not match the entry: a member was changed after it was written"
    if text is not None and entry.text_commitment != _commitment(text):
        return "text_commitment does not match: label, reason, before, after or salt was changed"
    return None


def _digest(entry: AuditEntry) -> str:
    return entry_digest(
        digest_members(
            entry_id=entry.pk,
            at=entry.at,
            action=entry.action,
            actor=(entry.actor_kind, entry.actor_id),
            subject=(entry.subject_kind, entry.subject_id),
            request_id=entry.request_id,
            trace_id=entry.trace_id,
            policy_version=entry.policy_version,
            previous_digest=entry.previous_digest,
            text_commitment=entry.text_commitment,
        )
    )


def _commitment(text: AuditText) -> str:
    return commit_text(
        salt=bytes(text.salt), label=text.label, reason=text.reason, before=text.before, after=text.after
    )
