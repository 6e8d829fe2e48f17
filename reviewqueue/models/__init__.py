"""People, how they want their pages, their claims, what they looked at and said, and the policies they write."""

from reviewqueue.models.claim import Claim
from reviewqueue.models.comment import Comment, Mention
from reviewqueue.models.edit_draft import EditDraft
from reviewqueue.models.policy_draft import (
    PolicyDraft,
    PolicySimulation,
    SimulatedDifference,
    SimulationPart,
)
from reviewqueue.models.preference import AfterDecision, Preference
from reviewqueue.models.saved_view import SavedView
from reviewqueue.models.user import Role, User
from reviewqueue.models.viewing import OpenedFinding, Viewing

__all__ = [
    "AfterDecision",
    "Claim",
    "Comment",
    "EditDraft",
    "Mention",
    "OpenedFinding",
    "PolicyDraft",
    "PolicySimulation",
    "Preference",
    "Role",
    "SavedView",
    "SimulatedDifference",
    "SimulationPart",
    "User",
    "Viewing",
]
