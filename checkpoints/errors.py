"""What can go wrong, as one tree. Each error carries the slug and status of its RFC 9457 problem.

ReviewQueueError
├── Refused              the bytes or their names cannot be stored (contract §3)
├── Conflict             the request contradicts what is stored or in flight (409)
│   ├── IllegalTransition    the state machine knows no such edge
│   ├── StaleDecision        somebody else decided, or the content changed (a page: the panel)
│   └── ClaimedByAnother     another person holds the claim
├── Unauthenticated      no token that we know and that is valid now (401)
├── NotAllowed           this person or token may not do this (403)
├── NotFound             no such thing for this caller (404)
├── InvalidInput         a form or parameter cannot be used (400 or 422)
├── LimitReached         too many requests or open items; later it works (429)
└── Unavailable          a part we need is away; the same request works later (503)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from checkpoints.types import JSONValue


@dataclass(frozen=True, slots=True)
class ProblemError:
    """One entry of a problem's `errors`: where, the stable code, and a sentence."""

    pointer: str
    code: str
    detail: str


class ReviewQueueError(Exception):
    """Base of all errors that have an answer. `permanent` tells a caller whether repeating can help."""

    slug = "internal-error"
    status = 500
    permanent = True

    def __init__(
        self,
        detail: str,
        *,
        slug: str | None = None,
        status: int | None = None,
        errors: Sequence[ProblemError] = (),
        extra: Mapping[str, JSONValue] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.slug = slug or self.slug
        self.status = status or self.status
        self.errors = tuple(errors)
        self.extra = dict(extra or {})
        self.retry_after = retry_after


class Refused(ReviewQueueError):
    """The body cannot be stored. `keep` says whether its bytes go to quarantine."""

    slug = "invalid-body"
    status = 422

    def __init__(
        self,
        detail: str,
        *,
        slug: str | None = None,
        status: int | None = None,
        errors: Sequence[ProblemError] = (),
        keep: bool = True,
        session_id: str | None = None,
        checkpoint_id: str | None = None,
    ) -> None:
        super().__init__(detail, slug=slug, status=status, errors=errors)
        self.keep = keep
        self.session_id = session_id
        self.checkpoint_id = checkpoint_id


class Conflict(ReviewQueueError):
    slug = "conflict"
    status = 409


class IllegalTransition(Conflict):
    slug = "invalid-transition"


class StaleDecision(Conflict):
    slug = "stale-decision"


class ClaimedByAnother(Conflict):
    slug = "claimed"


class Unauthenticated(ReviewQueueError):
    slug = "unauthenticated"
    status = 401


class NotAllowed(ReviewQueueError):
    slug = "not-allowed"
    status = 403


class NotFound(ReviewQueueError):
    slug = "not-found"
    status = 404


class InvalidInput(ReviewQueueError):
    slug = "invalid-parameter"
    status = 422


class LimitReached(ReviewQueueError):
    slug = "rate-limited"
    status = 429
    permanent = False


class Unavailable(ReviewQueueError):
    slug = "storage-unavailable"
    status = 503
    permanent = False
