"""Which finding speaks when several see the same thing (formats.md §3.1, closing notes)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from checkpoints.checks.catalogue import CATALOGUE, Entry, default_disposition
from checkpoints.types import CheckPolicy, Disposition, Hit, Severity

REPORTED = "REP"  # the sender's own findings stand beside ours: neither silences the other

# The first of a row silences the others on the same member and on members of the same object.
_ROWS = (
    ("HC-20", "HC-33"),
    ("HC-22", "HC-30"),
    ("HC-25", "HC-26", "HC-27"),
    ("HC-31", "HC-41"),
)
_SILENCED_BY: Mapping[str, frozenset[str]] = {
    weaker: frozenset(row[:place]) for row in _ROWS for place, weaker in enumerate(row) if place
}


def ruling(hit: Hit, policy: CheckPolicy) -> tuple[Severity, Disposition]:
    """The severity and disposition of a hit: catalogue, then the hit's own condition, then the policy."""
    entry: Entry = CATALOGUE[hit.code]
    rule = policy.checks.get(hit.code)
    severity = hit.severity or entry.severity
    if rule is not None and rule.severity is not None:
        severity = rule.severity
    if rule is not None and rule.disposition is not None:
        return severity, rule.disposition
    if entry.disposition is Disposition.REJECT and severity is entry.severity:
        return severity, Disposition.REJECT
    return severity, default_disposition(severity)


def silenced(hits: Iterable[Hit], policy: CheckPolicy) -> tuple[Hit, ...]:
    """The hits without those that a stronger one on the same place already says."""
    hits = tuple(hits)
    if len(hits) < 2:
        return hits
    high_at: set[str] = set()
    codes_at: defaultdict[str, set[str]] = defaultdict(set)
    for hit in hits:
        if hit.code not in CATALOGUE or hit.code == REPORTED:
            continue
        severity, disposition = ruling(hit, policy)
        if disposition is Disposition.IGNORE:
            continue
        if severity is Severity.HIGH and hit.pointer:
            high_at.add(hit.pointer)
        codes_at[hit.pointer].add(hit.code)
        codes_at[_owner(hit.pointer)].add(hit.code)
    return tuple(hit for hit in hits if not _is_silenced(hit, policy, high_at, codes_at))


def _is_silenced(hit: Hit, policy: CheckPolicy, high_at: set[str], codes_at: Mapping[str, set[str]]) -> bool:
    if hit.code not in CATALOGUE or hit.code == REPORTED:
        return False
    if hit.pointer in high_at and ruling(hit, policy)[0] is not Severity.HIGH:
        return True
    louder = _SILENCED_BY.get(hit.code)
    if louder is None:
        return False
    return any(louder & codes_at.get(place, set()) for place in (hit.pointer, _owner(hit.pointer)) if place)


def _owner(pointer: str) -> str:
    return pointer.rpartition("/")[0]
