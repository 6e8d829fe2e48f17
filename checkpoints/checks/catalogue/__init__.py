"""The catalogue: one entry per code, kept as data in one TOML file per family.

The tables are the only registry of codes. A finding whose code is not here becomes SYS-03.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType

from checkpoints.types import Disposition, Gate, JSONObject, Severity

REQUIRED_MEMBERS = ("name", "gate", "formats", "severity", "title", "why", "fix", "prevent")
OPTIONAL_MEMBERS = ("disposition", "reads", "conditions")


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known about one code.

    `formats` lists the formats that the code can speak about; ("*",) means all. `conditions` says in words
    when a hit is weaker than `severity`. `reads` lists the members without which the code is not judged, as
    paths such as "completed_steps/*/step_id".
    """

    code: str
    name: str
    family: str
    gate: Gate
    formats: tuple[str, ...]
    severity: Severity
    disposition: Disposition
    title: str
    why: str
    fix: str
    prevent: str
    reads: tuple[str, ...] = ()
    conditions: str = ""

    def speaks_about(self, format_name: str) -> bool:
        return "*" in self.formats or format_name in self.formats

    def as_json(self) -> JSONObject:
        """The entry as `GET /api/v1/checks` and `docs/checks.md` show it."""
        return {
            "code": self.code,
            "name": self.name,
            "family": self.family,
            "gate": self.gate.value,
            "formats": list(self.formats),
            "severity": self.severity.value,
            "disposition": self.disposition.value,
            "conditions": self.conditions,
            "title": self.title,
            "why": self.why,
            "fix": self.fix,
            "prevent": self.prevent,
        }


def default_disposition(severity: Severity) -> Disposition:
    """Contract §2.3: high goes to a person, medium and low travel as warnings."""
    return Disposition.REVIEW if severity is Severity.HIGH else Disposition.WARN


def _entry(family: str, code: str, table: Mapping[str, object]) -> Entry:
    unknown = set(table) - {*REQUIRED_MEMBERS, *OPTIONAL_MEMBERS}
    missing = [member for member in REQUIRED_MEMBERS if not table.get(member)]
    if unknown or missing:
        raise ValueError(f"{family}.toml, {code}: unknown members {sorted(unknown)}, missing {missing}")
    severity = Severity(str(table["severity"]))
    given = table.get("disposition")
    return Entry(
        code=code,
        name=str(table["name"]),
        family=family,
        gate=Gate(str(table["gate"])),
        formats=_strings(table["formats"]),
        severity=severity,
        disposition=Disposition(str(given)) if given else default_disposition(severity),
        title=str(table["title"]),
        why=str(table["why"]),
        fix=str(table["fix"]),
        prevent=str(table["prevent"]),
        reads=_strings(table.get("reads", ())),
        conditions=str(table.get("conditions", "")),
    )


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise TypeError(f"expected a list of strings, got {value!r}")
    return tuple(str(item) for item in value)


def _entries() -> Iterator[Entry]:
    for file in sorted(resources.files(__name__).iterdir(), key=lambda item: item.name):
        if file.name.endswith(".toml"):
            family = file.name.removesuffix(".toml")
            for code, table in tomllib.loads(file.read_text(encoding="utf-8")).items():
                yield _entry(family, code, table)


def _loaded(entries: Iterable[Entry]) -> Mapping[str, Entry]:
    by_code: dict[str, Entry] = {}
    for entry in entries:
        if entry.code in by_code:
            raise ValueError(f"{entry.code} stands in two catalogue files: a code means one thing")
        by_code[entry.code] = entry
    return MappingProxyType(dict(sorted(by_code.items())))


CATALOGUE: Mapping[str, Entry] = _loaded(_entries())
