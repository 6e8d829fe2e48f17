"""Recompute the audit trail from its rows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from checkpoints.management.answering import Answer, AnsweringCommand, Failed, with_progress
from checkpoints.services import audit_verification, tree_verification
from checkpoints.services.tree_verification import TreeFindings
from checkpoints.transparency import SignedHead, read_heads, read_verifier

BROKEN = 2


class Command(AnsweringCommand):
    help = (
        "Recompute every digest, link and text commitment of the audit trail, the tree over it and its signed heads. "
        "Exit codes: 0 everything verifies, 2 something does not (the first are named), 1 it could not be read."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--heads", metavar="FILE", help="signed heads kept outside of the database: each must still match"
        )
        parser.add_argument(
            "--key", metavar="KEY", help="the sealer's verifier key, origin+hash+base64, as you wrote it down"
        )

    def answer(self, options: dict[str, Any]) -> Answer:
        outside, key = _heads(options["heads"]), _key(options["key"])
        entries = with_progress(
            audit_verification.entries_in_order(), total=audit_verification.count, label="Verifying"
        )
        found = audit_verification.verify(entries)
        tree = tree_verification.verify(outside=outside, key=key)
        broken = bool(found.broken or tree.problems)
        data = asdict(found) | {"valid": not broken, "tree": asdict(tree)}
        if not broken:
            return Answer(_praise(found, tree), data)
        lines = []
        if found.broken:
            lines.append(
                f"The audit trail is BROKEN: {found.broken} of {found.entries} entries in {found.chains} chains do "
                "not verify. First:"
            )
            lines += [
                f"  entry {fault.entry_id}, {fault.subject} index {fault.index}: {fault.problem}"
                for fault in found.first
            ]
        if tree.problems:
            lines.append("The audit tree is BROKEN. First:")
            lines += [f"  {problem}" for problem in tree.problems]
        return Answer("\n".join(lines), data, BROKEN)


def _praise(found: audit_verification.Findings, tree: TreeFindings) -> str:
    text = f"The audit trail verifies: {found.entries} entries in {found.chains} chains."
    if found.erased:
        text += f" The text of {found.erased} was erased; their digests verify."
    if not tree.heads:
        return text + " Nothing was sealed yet."
    text += f" The tree of {tree.leaves} leaves matches {tree.heads} heads"
    return text + (f" and {tree.outside} from outside." if tree.outside else ".")


def _heads(file: str | None) -> list[SignedHead]:
    if file is None:
        return []
    try:
        return list(read_heads(Path(file).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise Failed(f"{file} cannot be read as signed heads: {error}.") from error


def _key(text: str | None) -> str | None:
    if text is None:
        return None
    try:
        return read_verifier(text).text
    except ValueError as error:
        raise Failed(f"--key cannot be used: {error}.") from error
