"""The policy in force, and publishing a new version of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import structlog
from django.db import connection, transaction

from checkpoints.errors import Conflict, InvalidInput
from checkpoints.faults import fault
from checkpoints.models import PolicyVersion
from checkpoints.policies import compile_policy
from checkpoints.services import audit
from checkpoints.services.clock import now
from checkpoints.types import Actor, CheckPolicy, JSONObject

CACHE_SECONDS = 1.0

log = structlog.get_logger("checkpoints.policy")


@dataclass(frozen=True, slots=True)
class ActivePolicy:
    """Version 0 with no publication is the empty document: all defaults."""

    version: int
    document: JSONObject
    compiled: CheckPolicy
    published_at: datetime | None


_cached: tuple[float, ActivePolicy] | None = None


def active(*, fresh: bool = False) -> ActivePolicy:
    """The newest version. Admission may read one that is up to a second old; checks read it `fresh`."""
    global _cached  # noqa: PLW0603 - CONFIG: one cache per process, replaced whole
    cached = _cached  # read once: another thread may replace it between two looks
    if not fresh and cached and time.monotonic() - cached[0] < CACHE_SECONDS:
        return cached[1]
    rows = PolicyVersion.objects.order_by("-version").values_list("version", "published_at")
    version, published_at = rows.first() or (0, None)
    policy = cached[1] if cached and cached[1].version == version else of_version(version=version)
    if policy.published_at != published_at:  # a restored database counts its versions anew
        of_version.cache_clear()
        policy = of_version(version=version)
    _cached = (time.monotonic(), policy)
    return policy


@lru_cache(maxsize=64)
def of_version(*, version: int) -> ActivePolicy:
    """One version, compiled. Raises InvalidInput where the stored document cannot be read (SYS-03)."""
    if version == 0:
        return ActivePolicy(0, {}, compile_policy({}, version=0), None)
    row = PolicyVersion.objects.get(version=version)
    return ActivePolicy(
        version, row.document, compile_policy(row.document, version=version), row.published_at
    )


def rules_of(*, version: int | None) -> CheckPolicy:
    """The rules an item was judged by; the defaults where that version can no longer be read.

    Deadlines, attempts and decisions must go on whatever became of an old document.
    """
    try:
        return of_version(version=version or 0).compiled
    except (InvalidInput, PolicyVersion.DoesNotExist):
        log.exception("policy.unreadable", version=version)
        return CheckPolicy()


def publish(
    *, document: JSONObject, actor: Actor, author: str | None = None, note: str = ""
) -> PolicyVersion:
    """Make `document` the policy from the next check on. Raises InvalidInput with a pointer per fault."""
    with transaction.atomic(durable=True):
        row = put_in_force(document=document, actor=actor, author=author, note=note)
        fault("policy.before_commit")
    fault("policy.after_commit")
    return row


def put_in_force(
    *,
    document: JSONObject,
    actor: Actor,
    author: str | None = None,
    note: str = "",
    instead_of: int | None = None,
) -> PolicyVersion:
    """`publish` inside the caller's transaction.

    Raises Conflict `policy-changed` (409) where another version than `instead_of` is in force by now.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('policy', 0))")
    newest = PolicyVersion.objects.order_by("-version").first()
    live = newest.version if newest else 0
    if instead_of is not None and live != instead_of:
        raise Conflict(
            f"Version {live} came into force after this draft was begun on version {instead_of}. Look at what "
            "changed, then base the draft on it.",
            slug="policy-changed",
            extra={"version": live, "based_on": instead_of},
        )
    version = live + 1
    compile_policy(document, version=version)
    at = now()
    row = PolicyVersion.objects.create(
        version=version,
        document=document,
        published_at=at,
        published_by=actor.id,
        authored_by=author or actor.id,
        note=note,
    )
    audit.record(
        audit.Entry(
            action="policy.published",
            actor=actor,
            subject=("policy", "policy"),
            at=at,
            reason=note or None,
            before={"version": newest.version, "document": newest.document} if newest else None,
            after={"version": version, "document": document, "authored_by": author or actor.id},
            policy_version=version,
        )
    )
    return row
