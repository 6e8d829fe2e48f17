"""Ids that must mean one thing: EH-01, EH-08, EH-09."""

from __future__ import annotations

from collections.abc import Iterable

from checkpoints.canonical.equality import same_value
from checkpoints.checks.engine_reading import (
    ID_NAMED_BY_ENGINE,
    RUN_NAMED_BY_ENGINE,
    counter,
    own_members,
)
from checkpoints.checks.shape import shown
from checkpoints.types import CheckContext, Hit, KnownRun, Severity, Submission


def an_id_means_one_content(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-01 for (session, run, id). Ids the engine makes itself restart with each process, so they prove little."""
    stored, own = context.same_source_id_digest, submission.payload.get("id")
    if stored is None or stored == submission.content_digest or not isinstance(own, str):
        return
    if _is_handed_over_again(submission, context):
        return
    restarts = ID_NAMED_BY_ENGINE.fullmatch(own) is not None
    why = (
        "the engine's own ids restart on a resume" if restarts else "one of the two is not what it says it is"
    )
    yield Hit(
        "EH-01",
        "/id",
        f"Checkpoint id {shown(own)} of this run was already used for other content: {why}.",
        stored,
        submission.content_digest,
        Severity.LOW if restarts else None,
    )


def _is_handed_over_again(submission: Submission, context: CheckContext) -> bool:
    """A flat document has the handoff's own members, so its digest differs although the checkpoint is the same."""
    previous = context.previous
    return previous is not None and same_value(own_members(previous.payload), own_members(submission.payload))


def a_run_stays_where_it_is(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-08, never for the names the engine gives (`run-1`): every process starts again with them."""
    payload = submission.payload
    run = payload.get("runId")
    if not isinstance(run, str) or RUN_NAMED_BY_ENGINE.fullmatch(run):
        return
    known = context.known_runs.get(run)
    if known is None:
        return
    for name, before in (
        ("sessionId", known.session_id),
        ("turnId", known.turn_id),
        ("parentRunId", known.parent_run_id),
    ):
        now = payload.get(name) or None
        if now == before or (name == "turnId" and before is None) or not isinstance(now, str | None):
            continue
        yield Hit(
            "EH-08",
            f"/{name}",
            f"Run {shown(run)} was known with {name} {shown(before)} and now comes with {shown(now)}: a run belongs "
            "to one session, turn and parent.",
            before,
            now,
        )


def a_child_is_one_deeper(submission: Submission, context: CheckContext) -> Iterable[Hit]:
    """EH-09, low where the parent was never seen."""
    payload = submission.payload
    parent, depth = payload.get("parentRunId"), counter(payload, "delegationDepth")
    # No depth, or no parent but itself: EC-06 and EC-08 say it.
    if not isinstance(parent, str) or not parent.strip() or not depth or parent == payload.get("runId"):
        return
    known = context.known_runs.get(parent)
    if known is None or not _is_of_the_session(known, submission):
        yield Hit(
            "EH-09",
            "/parentRunId",
            f"Parent run {shown(parent)} has sent no checkpoint in this session: the delegation cannot be traced.",
            "a run that is known here",
            shown(parent),
            Severity.LOW,
        )
    elif known.delegation_depth is not None and depth != known.delegation_depth + 1:
        yield Hit(
            "EH-09",
            "/delegationDepth",
            f"Run {shown(payload.get('runId'))} has delegationDepth {depth}, but its parent {shown(parent)} has "
            f"{known.delegation_depth}: a delegated run is exactly one deeper.",
            known.delegation_depth + 1,
            depth,
        )


def _is_of_the_session(known: KnownRun, submission: Submission) -> bool:
    """A delegated run keeps its parent's session; the same name elsewhere is another run."""
    return known.session_id in (submission.session_id, submission.payload.get("sessionId"))


CHECKS = (an_id_means_one_content, a_run_stays_where_it_is, a_child_is_one_deeper)
