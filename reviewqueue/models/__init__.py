"""People and their claims."""

from reviewqueue.models.claim import Claim
from reviewqueue.models.user import Role, User

__all__ = ["Claim", "Role", "User"]
