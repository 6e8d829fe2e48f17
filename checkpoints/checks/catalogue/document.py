"""The catalogue as a page for people: `docs/checks.md`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from checkpoints.checks.catalogue import CATALOGUE, Entry

_HEAD = """# The checks

Made from the catalogue by `python -m checkpoints.checks.catalogue > docs/checks.md`; a test holds the two equal.
`GET /api/v1/checks` answers with the same entries. Severity and disposition are the shipped ones: a policy may change
them by code. Gate *admission* refuses what cannot be stored, gate *checks* judges what was stored.
"""


def markdown() -> str:
    """The whole page. Its order is that of the families, then of the codes."""
    families = sorted(CATALOGUE.values(), key=lambda entry: (entry.family, entry.code))
    parts = [_HEAD, *_overview(families)]
    for family, entries in groupby(families, key=lambda entry: entry.family):
        parts.append(f"\n## {family.replace('_', ' ').capitalize()}\n")
        parts.extend(_section(entry) for entry in entries)
    return "\n".join(parts)


def _overview(entries: list[Entry]) -> Iterator[str]:
    yield "| code | name | severity | disposition | gate |"
    yield "|---|---|---|---|---|"
    for entry in sorted(entries, key=lambda entry: entry.code):
        yield (
            f"| [{entry.code}](#{entry.code.lower()}) | {entry.name} | {entry.severity} | {entry.disposition} "
            f"| {entry.gate} |"
        )


def _section(entry: Entry) -> str:
    formats = "all formats" if "*" in entry.formats else ", ".join(f"`{name}`" for name in entry.formats)
    condition = f"\n{entry.conditions}\n" if entry.conditions else ""
    return (
        f'<a id="{entry.code.lower()}"></a>\n\n### {entry.code} {entry.title}\n\n'
        f"`{entry.name}` · {entry.severity}, {entry.disposition} · gate {entry.gate} · {formats}\n{condition}\n"
        f"**Why.** {entry.why}\n\n**Fix.** {entry.fix}\n\n**Prevent.** {entry.prevent}\n"
    )
