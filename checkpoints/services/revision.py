"""Storing a new revision of a handoff's document. The original never changes (contract §2.9)."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import datetime

import jsonpatch
import orjson
from django.db import connection

from checkpoints.canonical import digest_bytes
from checkpoints.checks import tokens
from checkpoints.errors import InvalidInput, ProblemError
from checkpoints.formats import reread, with_short_names
from checkpoints.handoffs.calls import call_results
from checkpoints.handoffs.keys import derived_idempotency_key
from checkpoints.handoffs.likeness import likeness
from checkpoints.models import Checkpoint, CheckpointBody, CheckRun, Handoff
from checkpoints.policies import judge
from checkpoints.services.bodies import current_body
from checkpoints.services.history import Case, collect_many
from checkpoints.services.indexing import remember_calls
from checkpoints.services.policy import of_version
from checkpoints.services.review_round import begin
from checkpoints.services.revocation import revoke
from checkpoints.services.verdict import Judged, check_run, copy_verdict
from checkpoints.types import Actor, Disposition, JSONObject, JSONValue, Judgement, Risk, Submission


def assess(*, handoff: Handoff, document: JSONObject, policy_version: int) -> tuple[Submission, Judgement]:
    """Judge a document as the next revision of `handoff` would be judged. Nothing is stored."""
    submission = reread(orjson.dumps(document))
    context = collect_many(
        cases=[Case(handoff, submission, likeness(submission))],
        policy=of_version(version=policy_version).compiled,
        count_tokens=tokens.load(),
    )[handoff.pk]
    return submission, judge(submission, context)


def revise(
    *,
    handoff: Handoff,
    document: JSONObject,
    author: Actor,
    reason: str,
    policy_version: int,
    at: datetime,
) -> JSONObject:
    """Store `document` as the next revision of a locked handoff, re-checked, with approvals and tickets void.

    Returns what the audit entry should say. Raises InvalidInput (422) where the re-check rejects it or where
    nothing changed; the caller's transaction stores nothing then.
    """
    before = orjson.loads(current_body(handoff=handoff))
    patch: list[JSONValue] = [*jsonpatch.make_patch(before, document).patch]
    if not patch:
        raise InvalidInput(
            "The document is the same as before. Change something, or approve it as it is.",
            slug="no-change",
            errors=[ProblemError("document", "no-change", "Nothing was changed.")],
        )
    started = time.monotonic()
    submission, judgement = assess(handoff=handoff, document=document, policy_version=policy_version)
    _refuse_rejected(judgement)
    judgement = _never_less_risky(handoff, judgement)
    body = orjson.dumps(document)
    revises = handoff.revision
    previous: JSONObject = {"revision": handoff.revision, "content_digest": handoff.content_digest}
    handoff.revision += 1
    handoff.content_digest = submission.content_digest
    _copy_facts(handoff, submission, policy_version)
    stored = Checkpoint.objects.create(
        handoff=handoff,
        revision=handoff.revision,
        revises=revises,
        content_digest=submission.content_digest,
        body_digest=digest_bytes(body),
        size=len(body),
        author_kind=author.kind,
        author_id=author.id,
        author_label=author.label,
        reason=reason,
        patch=patch,
        created_at=at,
    )
    CheckpointBody.objects.create(checkpoint=stored, content=body)
    policy = of_version(version=policy_version).compiled
    judged = Judged(
        handoff_id=handoff.pk,
        attempt=0,
        revision=handoff.revision,
        judgement=judgement,
        policy_version=policy_version,
        policy=policy,
        started_at=at,
        check_ms=round((time.monotonic() - started) * 1000, 2),
        likeness=likeness(submission),
        expected_return=submission.facts.expected_return,
    )
    run: CheckRun = check_run(judged, at)
    run.save()
    copy_verdict(handoff, judged, at)
    remember_calls(calls=[(handoff, call_results(submission))], at=at)
    begin(handoff=handoff, policy=policy, at=at)
    revoke(handoff=handoff, actor=author, at=at, reason="The content changed.")
    handoff.approval_ticket_reference = None
    return {"revises": previous, "patch": patch, "findings": [*sorted(handoff.finding_codes)]}


def _never_less_risky(handoff: Handoff, judgement: Judgement) -> Judgement:
    """The risk of a revision is at least the original's: nobody edits the second approver away."""
    original = CheckRun.objects.filter(handoff=handoff, revision=1).order_by("finished_at").first()
    if original is None or Risk(original.risk).rank <= judgement.risk.rank:
        return judgement
    return replace(judgement, risk=Risk(original.risk))


def _refuse_rejected(judgement: Judgement) -> None:
    rejecting = [item for item in judgement.findings if item.disposition is Disposition.REJECT]
    if rejecting:
        raise InvalidInput(
            "The edited document would be rejected, so nothing was stored: "
            + " ".join(item.message for item in rejecting[:3]),
            slug="invalid-body",
            errors=[ProblemError(item.pointer, item.code, item.message) for item in rejecting],
        )


def _copy_facts(handoff: Handoff, submission: Submission, policy_version: int) -> None:
    facts = with_short_names(submission.facts)
    for column in ("agent_id", "agent_role", "target_role", "task_id", "run_id", "turn_id", "parent_run_id",
                   "delegation_depth", "human_approval_required", "sender_ticket_reference"):  # fmt: skip
        setattr(handoff, column, getattr(facts, column))
    handoff.sender_risk = facts.risk_level.value if facts.risk_level else None
    handoff.title = submission.title
    limit = of_version(version=policy_version).compiled.max_retries
    handoff.max_retries = limit if facts.max_retries is None else min(facts.max_retries, limit)
    handoff.idempotency_key = facts.idempotency_key or derived_idempotency_key(
        submission.session_id, handoff.handoff_sequence, facts.task_id
    )
    with (
        connection.cursor() as cursor
    ):  # history of this row is read by its columns: they must be the new ones
        cursor.execute(
            "UPDATE handoff SET agent_role = %s, target_role = %s, task_id = %s WHERE id = %s",
            [handoff.agent_role, handoff.target_role, handoff.task_id, handoff.pk],
        )
