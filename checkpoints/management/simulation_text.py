"""A report of a simulation as lines for a person at a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from checkpoints.services.simulation import Difference, Report
from checkpoints.types import Outcome

LISTED = 20


def report(found: Report, days: int) -> str:
    """All counts, and the first of the handoffs that would differ; `--json` has all of them."""
    return "\n".join(_lines(found, days))


def _lines(found: Report, days: int) -> Iterator[str]:
    tally = found.tally
    span = f"{days} days" if days > 1 else "day"
    yield f"{tally.judged} handoffs of the last {span} were judged again. Nothing stored was changed."
    if tally.without_body:
        yield f"{tally.without_body} more could not be: retention deleted their bodies."
    if tally.not_reproduced:
        yield (
            f"{tally.not_reproduced} would come out otherwise today whatever the policy, because of what came after "
            "them. They count with their stored verdict."
        )
    before, after = tally.side("before"), tally.side("after")
    yield ""
    yield f"{'outcome':<12}{'before':>8}{'after':>8}"
    for outcome in Outcome:
        yield f"{outcome.value:<12}{before[outcome.value]:>8}{after[outcome.value]:>8}"
    rows = [row for row in tally.code_rows() if row[1] != row[2]]
    if rows:
        yield ""
        yield f"{'finding':<12}{'before':>8}{'after':>8}"
        yield from (f"{code:<12}{one:>8}{other:>8}" for code, one, other in rows)
    changed = [row for row in tally.pair_rows() if row[2] != row[3]]
    if changed:
        yield ""
        yield "from -> to: cleared, flagged, rejected before | after"
        for source, target, one, other in changed:
            yield f"{source or '(no role)'} -> {target or '(no role)'}: {_counts(one)} | {_counts(other)}"
    yield ""
    if not found.differences:
        yield "No outcome would differ."
        return
    yield f"{len(found.differences)} outcomes would differ:"
    yield from (_line(difference) for difference in found.differences[:LISTED])
    if len(found.differences) > LISTED:
        yield f"  and {len(found.differences) - LISTED} more (--json lists all)"


def _counts(outcomes: dict[str, int]) -> str:
    return ", ".join(str(outcomes[outcome.value]) for outcome in Outcome)


def _line(item: Difference) -> str:
    codes = ", ".join(sorted({*item.before.codes} ^ {*item.after.codes}))
    changed = f" [{codes}]" if codes else ""
    return (
        f"  {item.session_id} {item.handoff_sequence} {item.checkpoint_id}: {item.before.outcome.value} -> "
        f"{item.after.outcome.value}{changed}"
    )
