"""Who may do what (contract §7). One table, asked by pages and services alike."""

from __future__ import annotations

from enum import StrEnum

from checkpoints.errors import NotAllowed
from reviewqueue.models import Role, User


class Act(StrEnum):
    SEE_QUEUE = "see_queue"
    READ_BODIES = "read_bodies"
    COMMENT = "comment"
    CLAIM = "claim"
    DECIDE = "decide"  # approve, edit, abort, send back, escalate
    REOPEN = "reopen"
    AUDIT = "audit"  # everything; operators see their own decisions
    OWN_AUDIT = "own_audit"
    DASHBOARD = "dashboard"
    POLICY_READ = "policy_read"
    POLICY_DRAFT = "policy_draft"
    POLICY_PUBLISH = "policy_publish"
    LEGAL_HOLD = "legal_hold"
    ADMINISTER = "administer"  # users, roles, tokens, webhooks


_OPERATOR = frozenset(
    {
        Act.SEE_QUEUE, Act.READ_BODIES, Act.COMMENT, Act.CLAIM, Act.DECIDE, Act.OWN_AUDIT, Act.DASHBOARD,
        Act.POLICY_READ, Act.POLICY_DRAFT,
    }
)  # fmt: skip
ALLOWED: dict[str, frozenset[Act]] = {
    Role.OPERATOR: _OPERATOR,
    Role.SENIOR_OPERATOR: _OPERATOR | {Act.REOPEN},
    Role.MANAGER: frozenset(
        {
            Act.SEE_QUEUE, Act.READ_BODIES, Act.COMMENT, Act.AUDIT, Act.OWN_AUDIT, Act.DASHBOARD, Act.POLICY_READ,
            Act.POLICY_DRAFT, Act.POLICY_PUBLISH, Act.LEGAL_HOLD,
        }
    ),
    Role.ADMIN: frozenset({Act.ADMINISTER, Act.POLICY_READ, Act.POLICY_DRAFT}),
}  # fmt: skip

_LABELS = {
    Act.SEE_QUEUE: "see the review queue",
    Act.READ_BODIES: "read checkpoints",
    Act.COMMENT: "comment",
    Act.CLAIM: "claim a handoff",
    Act.DECIDE: "decide on a handoff",
    Act.REOPEN: "reopen a rejected handoff",
    Act.AUDIT: "read the audit trail",
    Act.OWN_AUDIT: "read the audit trail of their own decisions",
    Act.DASHBOARD: "see the dashboard",
    Act.POLICY_READ: "read the policy",
    Act.POLICY_DRAFT: "draft a policy",
    Act.POLICY_PUBLISH: "publish a policy",
    Act.LEGAL_HOLD: "set a legal hold",
    Act.ADMINISTER: "manage users and tokens",
}


def may(user: User, act: Act | str) -> bool:
    """Whether the person's role allows the act. Inactive people may nothing."""
    return user.is_active and Act(act) in ALLOWED.get(user.role, frozenset())


def require(user: User, act: Act | str) -> None:
    """Raises NotAllowed (403), which says which roles may."""
    act = Act(act)
    if not may(user, act):
        roles = [str(Role(role).label).lower() for role, acts in ALLOWED.items() if act in acts]
        raise NotAllowed(
            f"You are signed in as {Role(user.role).label.lower()}. To {_LABELS[act]} takes the role "
            f"{' or '.join(roles)}; an admin can grant it."
        )
