"""Approve, abort, send back, escalate, reopen, take back: one durable transaction each (contract §7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import orjson
from django.db import transaction

from checkpoints.errors import (
    InvalidInput,
    NotAllowed,
    ProblemError,
    StaleDecision,
)
from checkpoints.faults import fault
from checkpoints.handoffs.machine import Event, next_state
from checkpoints.handoffs.sealing import retargeted
from checkpoints.models import Action, Decision, Handoff
from checkpoints.services.attempts import close
from checkpoints.services.bodies import current_body
from checkpoints.services.indexing import remember_answers
from checkpoints.services.policy import rules_of
from checkpoints.services.review_round import begin
from checkpoints.services.revision import revise
from checkpoints.services.revocation import revoke
from checkpoints.services.transition import announce, lock, move
from checkpoints.types import Actor, CheckPolicy, JSONObject, JSONValue, Risk, Severity, State, rfc3339
from reviewqueue.models import Claim, User
from reviewqueue.services import answering
from reviewqueue.services.access import Act, require
from reviewqueue.services.approvers import refuse_unfit, refuse_velocity, refuse_without_factor
from reviewqueue.services.claiming import actor_of, live_claim, reason_problem, refuse_if_claimed
from reviewqueue.services.minting import mint
from reviewqueue.services.viewing import unopened_high_findings

MAX_REASON = 10_000
SYSTEM = Actor(kind="system", id="system:fallback", label="Fallback")


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """What the decision form carries; `content_digest` and `version` are those that were on the screen."""

    action: str
    content_digest: str
    version: int
    reason: str = ""
    external_ticket: str = ""
    target: str = "same"
    answers: dict[str, str] = field(default_factory=dict)
    reconciliations: dict[str, str] = field(default_factory=dict)
    advice: str = "none"
    question: str = ""
    asks_opened: bool = False  # the form listed the high findings that its reader had not opened
    unopened_accepted: bool = False  # and the reader said that they approve all the same
    factor_is_fresh: bool = True  # no field: False where the session's second factor was used too long ago


def decide(*, handoff_id: UUID, reviewer: User, form: DecisionForm, request: Actor | None = None) -> Decision:
    """Carry out one decision on exactly the content that was on the screen.

    Raises StaleDecision, ClaimedByAnother, IllegalTransition (409); NotAllowed (403); InvalidInput (422);
    TooFast (429); Unavailable without a signing key. The same act again returns the first decision.
    """
    require(reviewer, Act.DECIDE)
    _check_text(form)
    actor = request or actor_of(reviewer)
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        repeated = _repeated(handoff, reviewer, form.action, form.content_digest)
        if repeated:
            return repeated
        refuse_stale(handoff=handoff, content_digest=form.content_digest, version=form.version)
        decision = _HANDLERS[form.action](handoff, reviewer, form, actor, at)
        announce(handoff_ids=[handoff.pk])
        fault("decision.before_commit")
    fault("decision.after_commit")
    return decision


def reopen(*, handoff_id: UUID, reviewer: User, reason: str, request: Actor | None = None) -> Decision:
    """Put a rejected handoff into the queue. Only a senior operator may, and only one may approve it then."""
    require(reviewer, Act.REOPEN)
    if not reason.strip():
        raise reason_problem("Say why this rejected handoff should be reviewed.")
    actor = request or actor_of(reviewer)
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        last = handoff.decisions.order_by("-at").first()
        repeated = last and (last.action, last.actor_id) == (Action.REOPEN, reviewer.public_id)
        if last and repeated and handoff.state == State.FLAGGED.value:
            return last
        begin(handoff=handoff, policy=_policy(handoff), at=at)
        handoff.reopened = True
        decision = _record(handoff, reviewer, Action.REOPEN, at, reason=reason.strip())
        move(handoff=handoff, event=Event.REOPEN, actor=actor, at=at, reason=reason.strip())
        announce(handoff_ids=[handoff.pk])
        fault("reopen.before_commit")
    fault("reopen.after_commit")
    return decision


def undo(*, handoff_id: UUID, reviewer: User, request: Actor | None = None) -> None:
    """Take one's own approval back while nothing was dispatched: flagged again, ticket revoked."""
    require(reviewer, Act.DECIDE)
    actor = request or actor_of(reviewer)
    with transaction.atomic(durable=True):
        handoff, at = lock(handoff_id=handoff_id)
        next_state(State(handoff.state), Event.WITHDRAW)
        mine = handoff.decisions.filter(
            action=Action.APPROVE, round=handoff.round, actor_id=reviewer.public_id
        )
        if not mine.exists():
            raise NotAllowed("Only a person who gave this approval can take it back.")
        revoke(handoff=handoff, actor=actor, at=at, reason="The approval was taken back.")
        handoff.approval_ticket_reference = None
        begin(handoff=handoff, policy=_policy(handoff), at=at)
        move(handoff=handoff, event=Event.WITHDRAW, actor=actor, at=at)
        announce(handoff_ids=[handoff.pk])
        fault("undo.before_commit")
    fault("undo.after_commit")


def refuse_stale(*, handoff: Handoff, content_digest: str, version: int) -> None:
    """Raises StaleDecision where the item changed since the page was shown; says what happened last."""
    if handoff.content_digest == content_digest and handoff.version == version:
        return
    last = handoff.decisions.order_by("-at").first()
    if last and handoff.state not in (State.FLAGGED.value, State.ESCALATED.value):
        action = last.action.replace("_", " ")
        text = f"{last.actor_label} decided {action} before you. Your decision was not carried out."
    elif handoff.content_digest != content_digest:
        text = "The content changed after you opened this page. Look at it again before you decide."
    else:
        text = "This handoff changed after you opened this page. Look at it again before you decide."
    raise StaleDecision(
        text,
        extra={
            "state": handoff.state,
            "version": handoff.version,
            "winner": last.actor_label if last else None,
            "action": last.action if last else None,
            "at": rfc3339(last.at) if last else None,
        },
    )


def _approve(handoff: Handoff, reviewer: User, form: DecisionForm, actor: Actor, at: datetime) -> Decision:
    next_state(State(handoff.state), Event.APPROVE)
    refuse_if_claimed(handoff=handoff, reviewer=reviewer, at=at)
    policy = _policy(handoff)
    unopened = _unopened(handoff, reviewer, form)  # before a fallback makes a revision nobody could open
    derived: JSONObject = {}
    if form.target == "fallback":  # first: the new target may carry a higher risk
        derived = _derive_fallback(handoff, policy, at)
    risk = Risk(handoff.risk or policy.risk_default)
    earlier = _approvals(handoff)
    refuse_unfit(handoff, reviewer, risk, policy, earlier)
    refuse_velocity(reviewer, at)
    _check_reason(handoff, risk, form.reason)
    ticket = _external_ticket(form.external_ticket, risk, policy, required=True)
    answered = answering.answers(handoff=handoff, given=form.answers, earlier=earlier)
    reconciled = answering.reconciliations(handoff=handoff, given=form.reconciliations, earlier=earlier)
    # Last: whoever confirms who they are should not do so in vain.
    refuse_without_factor(reviewer, risk, is_fresh=form.factor_is_fresh)
    decision = _record(
        handoff,
        reviewer,
        Action.APPROVE,
        at,
        reason=form.reason.strip(),
        answers=answered,
        reconciliations=reconciled,
        external_ticket=ticket,
        target=form.target,
    )
    approvals = [*earlier, decision]
    handoff.approvals_given = len(approvals)
    if handoff.approvals_given < handoff.approvals_required:
        event = Event.APPROVE_FIRST
    else:
        event = Event.APPROVE
        minted = mint(
            handoff=handoff,
            approvals=approvals,
            policy=policy,
            policy_version=handoff.policy_version or 0,
            actor=actor,
            at=at,
        )
        handoff.approval_ticket_reference = minted.reference
        handoff.decided_at = at
        handoff.round_attempts = 0
        handoff.not_before = None
        Claim.objects.filter(handoff=handoff).delete()
    _move(
        handoff,
        event,
        actor,
        at,
        decision,
        approvals=len(approvals),
        derived={**derived, "unopened_findings": unopened},
    )
    return decision


def _unopened(handoff: Handoff, reviewer: User, form: DecisionForm) -> list[JSONValue]:
    """The codes of high findings that the approver has not opened; the audit entry names them.

    A form that listed them needs the reader's word (InvalidInput, 422). A program that posts the contract's
    fields alone has no page to open them on.
    """
    left = unopened_high_findings(handoff=handoff, user=reviewer)
    if left and form.asks_opened and not form.unopened_accepted:
        text = (
            "Open the high findings before you approve, or tick that you approve without: "
            + "; ".join(f"finding {item.number}, {item.title}" for item in left[:5])
            + "."
        )
        raise InvalidInput(
            text, slug="findings-unopened", errors=[ProblemError("unopened", "required", text)]
        )
    return [item.code for item in left]


def _abort(handoff: Handoff, reviewer: User, form: DecisionForm, actor: Actor, at: datetime) -> Decision:
    next_state(State(handoff.state), Event.ABORT)
    if not form.reason.strip():
        raise reason_problem("Say why the handoff is aborted. The sender reads it.")
    decision = _record(
        handoff, reviewer, Action.ABORT, at, reason=form.reason.strip(), advice=form.advice or "none",
        external_ticket=_external_ticket(form.external_ticket, Risk.LOW, _policy(handoff), required=False),
    )  # fmt: skip
    close(handoff=handoff, actor=actor, at=at, reason=form.reason.strip())
    handoff.decided_at = at
    Claim.objects.filter(handoff=handoff).delete()
    _move(handoff, Event.ABORT, actor, at, decision)
    return decision


def _send_back(handoff: Handoff, reviewer: User, form: DecisionForm, actor: Actor, at: datetime) -> Decision:
    next_state(State(handoff.state), Event.SEND_BACK)
    refuse_if_claimed(handoff=handoff, reviewer=reviewer, at=at)
    if not form.question.strip():
        text = "Write the question that the sender should answer with its next checkpoint."
        raise InvalidInput(
            text, slug="question-required", errors=[ProblemError("question", "required", text)]
        )
    decision = _record(
        handoff,
        reviewer,
        Action.SEND_BACK,
        at,
        reason=form.reason.strip(),
        question=form.question.strip(),
    )
    close(handoff=handoff, actor=actor, at=at, reason=form.question.strip())
    handoff.decided_at = at
    Claim.objects.filter(handoff=handoff).delete()
    _move(handoff, Event.SEND_BACK, actor, at, decision)
    return decision


def _escalate(handoff: Handoff, reviewer: User, form: DecisionForm, actor: Actor, at: datetime) -> Decision:
    next_state(State(handoff.state), Event.ESCALATE)
    if handoff.state == State.RECOVERABLE.value:  # whoever approved it before has to look again
        begin(handoff=handoff, policy=_policy(handoff), at=at)
    decision = _record(handoff, reviewer, Action.ESCALATE, at, reason=form.reason.strip())
    held = live_claim(handoff=handoff, at=at)
    if held and held.holder_id == reviewer.pk:
        held.delete()
    _move(handoff, Event.ESCALATE, actor, at, decision)
    return decision


_HANDLERS = {
    Action.APPROVE.value: _approve,
    Action.ABORT.value: _abort,
    Action.SEND_BACK.value: _send_back,
    Action.ESCALATE.value: _escalate,
}


def _check_text(form: DecisionForm) -> None:
    """Faults of the form that need no row to be seen."""
    errors = []
    if form.action not in _HANDLERS:
        errors.append(ProblemError("action", "unknown-action", f"Choose one of: {', '.join(_HANDLERS)}."))
    for name, text in (("reason", form.reason), ("question", form.question)):
        if len(text) > MAX_REASON or "\x00" in text:
            errors.append(ProblemError(name, "invalid", f"Use at most {MAX_REASON} characters of text."))
    if form.advice not in ("", "none", "restart", "fallback"):
        errors.append(ProblemError("advice", "unknown", "Choose restart, fallback or none."))
    if form.target not in ("same", "fallback"):
        errors.append(ProblemError("target", "unknown", "Choose same or fallback."))
    if errors:
        raise InvalidInput("The form cannot be used as it is.", slug="invalid-form", errors=errors)


def _repeated(handoff: Handoff, reviewer: User, action: str, content_digest: str) -> Decision | None:
    """The decision of the very same act: a double click or a resent form."""
    last = handoff.decisions.filter(actor_id=reviewer.public_id).order_by("-at").first()
    if not last or last.action != action or last.round != handoff.round:  # a later round asks anew
        return None
    seen = last.content_digest
    if (
        last.target == "fallback"
    ):  # it is bound to the revision that it derived; the page showed the one before
        seen = handoff.checkpoints.get(revision=last.revision - 1).content_digest
    return last if seen == content_digest else None


def _check_reason(handoff: Handoff, risk: Risk, reason: str) -> None:
    if reason.strip():
        return
    if risk is Risk.HIGH:
        raise reason_problem("High risk: say why this may go out.")
    if handoff.severity >= Severity.HIGH.rank:
        raise reason_problem(
            "A high finding stands against this handoff: say why it may go out all the same."
        )


def _external_ticket(text: str, risk: Risk, policy: CheckPolicy, *, required: bool) -> str | None:
    text = text.strip()
    matches = policy.external_ticket_matches
    if not text:
        if required and risk in policy.external_ticket_required_for:
            message = f"The policy requires a ticket reference at {risk.value} risk."
            raise InvalidInput(
                message,
                slug="ticket-required",
                errors=[ProblemError("external_ticket", "required", message)],
            )
        return None
    if len(text) > 200 or (matches is not None and not matches(text)):
        message = f"{text[:64]!r} does not look like a ticket of the policy's pattern."
        raise InvalidInput(
            message, slug="ticket-invalid", errors=[ProblemError("external_ticket", "pattern", message)]
        )
    return text


def _derive_fallback(handoff: Handoff, policy: CheckPolicy, at: datetime) -> JSONObject:
    """The system's revision that differs from the shown one only in its target, in this transaction."""
    rule = policy.roles.get(handoff.target_role or "")
    if handoff.state != State.ESCALATED.value or rule is None or rule.fallback_role is None:
        message = f"There is no fallback role for {handoff.target_role or 'this target'} in the policy."
        raise InvalidInput(
            message, slug="no-fallback", errors=[ProblemError("target", "no-fallback", message)]
        )
    document = retargeted(orjson.loads(current_body(handoff=handoff)), target_role=rule.fallback_role)
    return revise(
        handoff=handoff,
        document=document,
        author=SYSTEM,
        reason=f"Approved for the fallback role {rule.fallback_role}.",
        policy_version=handoff.policy_version or 0,
        at=at,
    )


def _approvals(handoff: Handoff) -> list[Decision]:
    return list(handoff.decisions.filter(action=Action.APPROVE, round=handoff.round).order_by("at"))


def _policy(handoff: Handoff) -> CheckPolicy:
    return rules_of(version=handoff.policy_version)


def _record(
    handoff: Handoff,
    reviewer: User,
    action: Action,
    at: datetime,
    *,
    reason: str = "",
    answers: list[JSONObject] | None = None,
    reconciliations: list[JSONObject] | None = None,
    advice: str = "none",
    question: str | None = None,
    external_ticket: str | None = None,
    target: str = "same",
) -> Decision:
    """One decision row, bound to what the handoff is at this moment."""
    decision: Decision = Decision.objects.create(
        handoff=handoff,
        round=handoff.round,
        revision=handoff.revision,
        content_digest=handoff.content_digest,
        action=action.value,
        actor_id=reviewer.public_id,
        actor_label=reviewer.label,
        role=reviewer.role,
        reason=reason,
        at=at,
        answers=answers or [],
        reconciliations=reconciliations or [],
        advice=advice,
        question=question,
        external_ticket=external_ticket,
        target=target,
        policy_version=handoff.policy_version,
    )
    remember_answers(handoff=handoff, answers=answers or [], at=at)
    return decision


def _move(
    handoff: Handoff,
    event: Event,
    actor: Actor,
    at: datetime,
    decision: Decision,
    *,
    approvals: int | None = None,
    derived: JSONObject | None = None,
) -> None:
    detail: JSONObject = {
        "decision": str(decision.pk),
        "action": decision.action,
        "target": decision.target,
        **(derived or {}),
        "advice": decision.advice,
        "question": decision.question,
        "external_ticket": decision.external_ticket,
        "answers": decision.answers,
        "reconciliations": decision.reconciliations,
    }
    if approvals is not None:
        detail["approvals"] = {"given": approvals, "required": handoff.approvals_required}
    move(
        handoff=handoff,
        event=event,
        actor=actor,
        at=at,
        reason=decision.reason or None,
        detail={key: value for key, value in detail.items() if value not in (None, [], "none", "same")},
    )
