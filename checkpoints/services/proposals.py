"""Rules that people follow already: codes on which they always decided the same."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

from django.db import connection

from checkpoints.checks.catalogue import CATALOGUE
from checkpoints.checks.silence import ruling
from checkpoints.types import CheckPolicy, Disposition, Hit

LEAST_DECISIONS: Final = 50
LOOKED_AT: Final = 20_000  # the newest decisions: what people did years ago proposes nothing

# Each decision with the codes that stood on the revision it was made on.
COUNTED = """
    SELECT found.code, d.action, count(*)
    FROM (
        SELECT handoff_id, revision, action FROM decision
        WHERE actor_kind = 'person' AND action IN ('approve', 'edit', 'abort', 'send_back')
        ORDER BY at DESC LIMIT %s
    ) d
    CROSS JOIN LATERAL (
        SELECT r.findings FROM check_run r WHERE r.handoff_id = d.handoff_id AND r.revision = d.revision
        ORDER BY r.finished_at DESC LIMIT 1
    ) run
    CROSS JOIN LATERAL (SELECT DISTINCT f->>'code' AS code FROM jsonb_array_elements(run.findings) AS f) found
    GROUP BY found.code, d.action
"""
LEADS_TO: Final = {
    "approve": Disposition.WARN,
    "abort": Disposition.REJECT,
    "send_back": Disposition.REJECT,
    "edit": None,
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """`decisions` times people did `action` with a handoff that had `code`, and never anything else.

    `disposition` is the rule that says the same; None where no rule can (what is always edited wants a better
    sender).
    """

    code: str
    title: str
    action: str
    decisions: int
    disposition: Disposition | None


def proposals(*, policy: CheckPolicy) -> list[Proposal]:
    """What `policy` could decide by itself, most decisions first. Failures of the checks always want a person."""
    by_code: defaultdict[str, dict[str, int]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(COUNTED, [LOOKED_AT])
        for code, action, number in cursor.fetchall():
            by_code[code][action] = number
    found = []
    for code, actions in by_code.items():
        if len(actions) > 1 or code not in CATALOGUE or code == "REP" or code.startswith("SYS-"):
            continue
        ((action, number),) = actions.items()
        wanted = LEADS_TO[action]
        if number >= LEAST_DECISIONS and _says_more(code, wanted, policy):
            found.append(Proposal(code, CATALOGUE[code].title, action, number, wanted))
    return sorted(found, key=lambda proposal: (-proposal.decisions, proposal.code))


def _says_more(code: str, wanted: Disposition | None, policy: CheckPolicy) -> bool:
    """Whether the policy does not say so already. A code that only warns has stopped nothing."""
    now = ruling(Hit(code, "", ""), policy)[1]
    if wanted is Disposition.WARN or wanted is None:
        return now in (Disposition.REVIEW, Disposition.REJECT)
    return now is Disposition.REVIEW
