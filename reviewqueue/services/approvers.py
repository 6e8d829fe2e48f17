"""Who may approve what, when, and how fast: the refusals that look at the person instead of the form (contract §7)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings

from checkpoints.errors import NotAllowed, ReviewQueueError
from checkpoints.models import Action, Checkpoint, Decision, Handoff
from checkpoints.types import CheckPolicy, Risk
from reviewqueue.models import Role, User


class TooFast(ReviewQueueError):
    """More approvals a minute than one person can look at (429)."""

    slug = "rate-limited"
    status = 429


def refuse_unfit(
    handoff: Handoff, reviewer: User, risk: Risk, policy: CheckPolicy, earlier: Sequence[Decision]
) -> None:
    """Raises NotAllowed (403) where the quorum of this handoff cannot count this person."""
    senior = reviewer.role == Role.SENIOR_OPERATOR
    if handoff.reopened and not senior:
        raise NotAllowed("This handoff was rejected and reopened. Only a senior operator may approve it.")
    if any(item.actor_id == reviewer.public_id for item in earlier):
        raise NotAllowed(
            "You approved this already. The second approval must come from another person.",
            slug="self-approval",
        )
    edited = Checkpoint.objects.filter(handoff=handoff, author_kind="person", author_id=reviewer.public_id)
    if edited.exists() and not policy.self_approval_of_edits.get(risk, False):
        raise NotAllowed(
            f"You edited this handoff. At {risk.value} risk somebody else has to approve it.",
            slug="self-approval",
        )
    completes = len(earlier) + 1 >= handoff.approvals_required
    has_senior = senior or any(item.role == Role.SENIOR_OPERATOR for item in earlier)
    if risk is Risk.HIGH and completes and not has_senior:
        raise NotAllowed("High risk needs a senior operator among its approvers. Ask one to approve.")


def refuse_without_factor(reviewer: User, risk: Risk, *, is_fresh: bool) -> None:
    """Raises NotAllowed (403) at high risk; its `step_up` says whether a factor has to be added or used again."""
    if not settings.REQUIRE_SECOND_FACTOR or risk is not Risk.HIGH:
        return
    from allauth.mfa.utils import is_mfa_enabled

    if not is_mfa_enabled(reviewer):
        raise NotAllowed(
            "Approving high risk needs a second factor. Add one, then come back: what you filled in stays here.",
            slug="step-up-required",
            extra={"step_up": "enrol"},
        )
    if not is_fresh:
        raise NotAllowed(
            f"Approving high risk needs your second factor, used within {settings.STEP_UP_MINUTES} minutes. "
            "Confirm that it is you; what you filled in stays.",
            slug="step-up-required",
            extra={"step_up": "confirm"},
        )


def refuse_velocity(reviewer: User, at: datetime) -> None:
    """Raises TooFast (429)."""
    recent = Decision.objects.filter(
        actor_id=reviewer.public_id, action=Action.APPROVE, at__gt=at - timedelta(minutes=1)
    ).count()
    if settings.APPROVALS_PER_MINUTE and recent >= settings.APPROVALS_PER_MINUTE:
        raise TooFast(
            f"You approved {recent} handoffs within a minute. Take a moment; the form keeps what you typed.",
            retry_after=60,
        )
