"""Reading the incidents: manifest entries, and documents with their times and hashes filled in."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import resources
from typing import Any, Final

from checkpoints.formats import admit
from checkpoints.handoffs.sealing import sealed
from checkpoints.types import JSONObject

FOLDER: Final = resources.files("reviewqueue.demo")
_TIME: Final = re.compile(r"@-(\d+)([smh])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours"}
_HASHES: Final = ("consistency_hash", "context_fingerprint")


@dataclass(frozen=True, slots=True)
class Incident:
    """One document of the demo: what it shows, the verdict it must get, what happens then, where it ends."""

    file: str
    shows: str
    outcome: str
    risk: str
    reasons: tuple[str, ...]
    stops: tuple[str, ...]  # exactly the codes that review or reject
    warns: tuple[str, ...]  # codes that must be among the warnings
    then: tuple[dict[str, Any], ...]
    state: str

    @property
    def checkpoint_id(self) -> str:
        return str(self.read()["checkpoint_id"])

    @property
    def wave(self) -> int:
        """Its handoff_sequence: documents of one wave do not depend on each other."""
        return int(self.read()["handoff_sequence"])

    def read(self) -> dict[str, Any]:
        """The document as it stands in its file."""
        found: dict[str, Any] = json.loads((FOLDER / "incidents" / self.file).read_text(encoding="utf-8"))
        return found

    def body(self, at: datetime) -> bytes:
        """The bytes to post: times before `at`, and hashes that the file does not give."""
        return json.dumps(_sealed(_timed(self.read(), at)), ensure_ascii=False).encode()


def incidents() -> tuple[Incident, ...]:
    """All incidents in posting order."""
    entries = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
    return tuple(
        Incident(
            file=entry["file"],
            shows=entry["shows"],
            outcome=entry["expect"]["outcome"],
            risk=entry["expect"]["risk"],
            reasons=tuple(entry["expect"]["reasons"]),
            stops=tuple(entry["expect"]["stops"]),
            warns=tuple(entry["expect"]["warns"]),
            then=tuple(entry["then"]),
            state=entry["state"],
        )
        for entry in entries
    )


def refused_bodies() -> tuple[bytes, ...]:
    """Bodies that nobody can store: they end in quarantine."""
    return tuple(
        file.read_bytes() for file in sorted((FOLDER / "refused").iterdir(), key=lambda file: file.name)
    )


def demo_policy() -> JSONObject:
    """The policy under which the incidents have their expected verdicts."""
    found: JSONObject = json.loads((FOLDER / "policy.json").read_text(encoding="utf-8"))
    return found


def _timed(value: Any, at: datetime) -> Any:
    if isinstance(value, dict):
        return {key: _timed(item, at) for key, item in value.items()}
    if isinstance(value, list):
        return [_timed(item, at) for item in value]
    if isinstance(value, str) and (found := _TIME.fullmatch(value)):
        moment = at - timedelta(**{_UNITS[found[2]]: int(found[1])})
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    return value


def _sealed(document: dict[str, Any]) -> dict[str, Any]:
    """With both hashes as the server computes them, except those that the file gives (they are meant to be wrong)."""
    copy: dict[str, Any] = sealed(document, format_name=admit(json.dumps(document).encode()).format)
    before, after = document.get("payload", document), copy.get("payload", copy)
    after.update({name: before[name] for name in _HASHES if name in before})
    return copy
