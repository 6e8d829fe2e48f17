"""Recompute the audit trail from its rows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from checkpoints.management.answering import Answer, AnsweringCommand, with_progress
from checkpoints.services import audit_verification

BROKEN = 2


class Command(AnsweringCommand):
    help = (
        "Recompute every digest, link and text commitment of the audit trail. "
        "Exit codes: 0 all entries verify, 2 at least one does not (the first are named), 1 it could not be read."
    )

    def answer(self, options: dict[str, Any]) -> Answer:
        entries = with_progress(
            audit_verification.entries_in_order(), total=audit_verification.count, label="Verifying"
        )
        found = audit_verification.verify(entries)
        data = asdict(found) | {"valid": not found.broken}
        seen = f"{found.entries} entries in {found.chains} chains"
        erased = f" The text of {found.erased} was erased; their digests verify." if found.erased else ""
        if not found.broken:
            return Answer(f"The audit trail verifies: {seen}.{erased}", data)
        lines = [f"The audit trail is BROKEN: {found.broken} of {seen} do not verify. First:"]
        lines += [
            f"  entry {fault.entry_id}, {fault.subject} index {fault.index}: {fault.problem}"
            for fault in found.first
        ]
        return Answer("\n".join(lines), data, BROKEN)
