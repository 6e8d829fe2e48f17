"""Findings as the page shows them: the check's own words, the catalogue's advice, the place in the snapshot."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.models import CheckRun, Handoff
from checkpoints.types import JSONValue
from reviewqueue.pages import tree
from reviewqueue.repairs import REPAIRABLE

VALUE_LENGTH = 600
LOOKED_BACK = 100  # checkpoints of the session


@dataclass(frozen=True, slots=True)
class ShownFinding:
    number: int
    code: str
    severity: str
    disposition: str
    title: str
    message: str
    pointer: str
    anchor: str
    expected: str | None
    actual: str | None
    why: str
    fix: str
    prevent: str
    reported: bool
    opened: bool = False
    since: int | None = None  # the first checkpoint of the unbroken run in which this code stands
    is_new: bool = False  # there was a checkpoint before, without it

    @property
    def repairable(self) -> bool:
        """Whether the edit page knows repairs of such a finding; not all fit every document."""
        return self.code in REPAIRABLE and not self.reported

    @property
    def stops(self) -> bool:
        return self.disposition in ("review", "reject")


def shown(run: CheckRun | None) -> list[ShownFinding]:
    """The findings of a run in its order: severity, code, pointer."""
    found = run.findings if run else []
    return [_shown(number, finding) for number, finding in enumerate(found, start=1)]


def for_reader(
    found: Sequence[ShownFinding], handoff: Handoff, opened: set[tuple[str, str]]
) -> list[ShownFinding]:
    """The findings with what this person opened already, and since when each code stands in the session."""
    before = standing(handoff) if found else []
    told = []
    for finding in found:
        since = None
        for sequence, codes in before:
            if finding.code not in codes:
                break
            since = sequence
        is_opened = (finding.code, finding.pointer) in opened
        told.append(replace(finding, opened=is_opened, since=since, is_new=bool(before) and since is None))
    return told


def standing(handoff: Handoff) -> list[tuple[int, list[str]]]:
    """(sequence, codes) of the judged checkpoints before this one with its task and role, newest first."""
    rows = Handoff.objects.filter(
        session=handoff.session,
        task_id=handoff.task_id,
        agent_role=handoff.agent_role,
        handoff_sequence__lt=handoff.handoff_sequence,
        checked_at__isnull=False,
    )
    return list(
        rows.order_by("-handoff_sequence").values_list("handoff_sequence", "finding_codes")[:LOOKED_BACK]
    )


def _shown(number: int, finding: Mapping[str, Any]) -> ShownFinding:
    entry = CATALOGUE.get(finding["code"])
    reported = finding.get("origin") == "reported"
    pointer = finding.get("pointer") or ""
    return ShownFinding(
        number=number,
        code=finding["code"],
        severity=finding["severity"],
        disposition=finding["disposition"],
        title="The sender reports this itself" if reported else entry.title if entry else finding["name"],
        message=finding["message"],
        pointer=pointer,
        anchor=tree.anchor(pointer),
        expected=_value(finding.get("expected")),
        actual=_value(finding.get("actual")),
        why=entry.why if entry and not reported else "",
        fix=entry.fix if entry and not reported else "",
        prevent=entry.prevent if entry and not reported else "",
        reported=reported,
    )


def _value(value: JSONValue) -> str | None:
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_LENGTH else text[: VALUE_LENGTH - 1] + "…"


def marks(found: Sequence[ShownFinding]) -> dict[str, list[tuple[str, str]]]:
    """(severity, title) by pointer, for the tree."""
    by_pointer: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for finding in found:
        by_pointer[finding.pointer].append((finding.severity, finding.title))
    return dict(by_pointer)
