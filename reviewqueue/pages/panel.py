"""The decision panel: what this person may do with this handoff now, and if not, why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from checkpoints.formats import FORMATS
from checkpoints.handoffs.machine import TABLE, Event
from checkpoints.models import AWAITING_PERSON, Checkpoint, Decision, Handoff
from checkpoints.types import CheckPolicy, Risk, Severity, State
from reviewqueue.models import Claim, Role, User
from reviewqueue.services import access
from reviewqueue.services.access import Act


@dataclass(frozen=True, slots=True)
class Panel:
    """`approve_block` says why this person cannot approve although others could; "" where they can."""

    decides: bool
    waits: bool
    can_approve: bool
    can_edit: bool
    can_abort: bool
    can_send_back: bool
    can_escalate: bool
    can_reopen: bool
    can_undo: bool
    can_claim: bool
    approve_block: str
    reason_needed: str
    ticket_needed: bool
    ticket_shown: bool
    fallback_role: str
    approvals: Sequence[Decision] = field(default_factory=tuple)
    missing: int = 0
    senior_missing: bool = False
    holder: User | None = None
    held_until: datetime | None = None
    held_by_you: bool = False


def build(
    handoff: Handoff,
    user: User,
    policy: CheckPolicy,
    decisions: Sequence[Decision],
    claim: Claim | None,
    at: datetime,
) -> Panel:
    decides = access.may(user, Act.DECIDE)
    waits = handoff.state in AWAITING_PERSON
    risk = Risk(handoff.risk or policy.risk_default)
    approvals = [item for item in decisions if item.action == "approve" and item.round == handoff.round]
    approvals.sort(key=lambda item: item.at)
    live = claim if claim is not None and claim.expires_at > at else None
    missing = max(0, handoff.approvals_required - len(approvals)) if waits else 0
    senior_missing = (
        risk is Risk.HIGH and missing > 0 and not any(item.role == Role.SENIOR_OPERATOR for item in approvals)
    )
    block = (
        _approve_block(handoff, user, policy, risk, approvals, missing, senior_missing)
        if decides and waits
        else ""
    )
    ticket_needed = risk in policy.external_ticket_required_for
    return Panel(
        decides=decides,
        waits=waits,
        can_approve=decides and waits and not block,
        can_edit=decides and waits and FORMATS[handoff.format].editable,
        **_other_acts(handoff, user, approvals, decides=decides, waits=waits),
        approve_block=block,
        reason_needed=_reason_needed(handoff, risk),
        ticket_needed=ticket_needed,
        ticket_shown=ticket_needed or policy.external_ticket_matches is not None,
        fallback_role=_fallback_role(handoff, policy),
        approvals=approvals,
        missing=missing,
        senior_missing=senior_missing,
        holder=live.holder if live else None,
        held_until=live.expires_at if live else None,
        held_by_you=live is not None and live.holder_id == user.pk,
    )


def _other_acts(
    handoff: Handoff, user: User, approvals: Sequence[Decision], *, decides: bool, waits: bool
) -> dict[str, bool]:
    """What the state machine allows from here, for this role."""
    state = State(handoff.state)
    return {
        "can_abort": decides and state in TABLE[Event.ABORT],
        "can_send_back": decides and state in TABLE[Event.SEND_BACK],
        "can_escalate": decides and state in TABLE[Event.ESCALATE],
        "can_reopen": state is State.REJECTED and access.may(user, Act.REOPEN),
        "can_undo": state is State.APPROVED and any(item.actor_id == user.public_id for item in approvals),
        "can_claim": decides and (waits or state is State.REJECTED),
    }


def _fallback_role(handoff: Handoff, policy: CheckPolicy) -> str:
    rule = policy.roles.get(handoff.target_role or "")
    return (rule.fallback_role or "") if rule and handoff.state == State.ESCALATED else ""


def _approve_block(
    handoff: Handoff,
    user: User,
    policy: CheckPolicy,
    risk: Risk,
    approvals: Sequence[Decision],
    missing: int,
    senior_missing: bool,
) -> str:
    """The service decides; this says the same before anybody types a reason in vain."""
    senior = user.role == Role.SENIOR_OPERATOR
    if any(item.actor_id == user.public_id for item in approvals):
        return "You have approved. The second approval must come from another person."
    if handoff.reopened and not senior:
        return "This was rejected and reopened, so only a senior operator may approve it."
    edited = Checkpoint.objects.filter(handoff=handoff, author_kind="person", author_id=user.public_id)
    if not policy.self_approval_of_edits.get(risk, False) and edited.exists():
        return f"You edited this. At {risk.value} risk somebody else has to approve it."
    if senior_missing and missing == 1 and not senior:
        return "The approval that is missing must come from a senior operator."
    return ""


def _reason_needed(handoff: Handoff, risk: Risk) -> str:
    if risk is Risk.HIGH:
        return "required at high risk"
    if handoff.severity >= Severity.HIGH.rank:
        return "required over a high finding"
    return "required to abort"
