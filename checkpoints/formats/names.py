"""Names as rows hold them: short enough for an index, whatever the document says.

A name of thousands of characters is a finding, not a reason to refuse or to fail: the checkpoint is stored all the
same. Checks read the facts as they are; a row gets such a name cut, with a digest, so that equal names stay equal
and different ones different.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final

from checkpoints.types import Facts

MAX_BYTES: Final = 600  # in UTF-8; four such names fit the third of a page that one index row may take
KEPT_BYTES: Final = 400

NAMES: Final = (
    "source_id",
    "agent_id",
    "agent_role",
    "target_role",
    "task_id",
    "run_id",
    "turn_id",
    "parent_run_id",
    "sender_ticket_reference",
    "idempotency_key",
)
_all_names = attrgetter(*NAMES)


def with_short_names(facts: Facts) -> Facts:
    """The facts, with every name that is too long for an index cut."""
    changed: dict[str, Any] = {
        member: short(name)
        for member, name in zip(NAMES, _all_names(facts), strict=True)
        if name is not None and len(name) > MAX_BYTES // 4
    }
    return replace(facts, **changed) if changed else facts


def short(name: str) -> str:
    """A name of up to MAX_BYTES as it is; a longer one as its beginning, `…` and 32 digits of its SHA-256."""
    data = name.encode()
    if len(data) <= MAX_BYTES:
        return name
    return f"{data[:KEPT_BYTES].decode(errors='ignore')}…{hashlib.sha256(data).hexdigest()[:32]}"
