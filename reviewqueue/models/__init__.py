"""People, their claims, and the policies they write."""

from reviewqueue.models.claim import Claim
from reviewqueue.models.policy_draft import (
    PolicyDraft,
    PolicySimulation,
    SimulatedDifference,
    SimulationPart,
)
from reviewqueue.models.user import Role, User

__all__ = [
    "Claim",
    "PolicyDraft",
    "PolicySimulation",
    "Role",
    "SimulatedDifference",
    "SimulationPart",
    "User",
]
