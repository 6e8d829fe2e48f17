"""The transfer of control that a checkpoint protects: the one mutable row, and its attempts."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, Self

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce, Collate, Greatest, Lower, Now

from checkpoints.handoffs.retries import retries_left
from checkpoints.identifiers import uuid7
from checkpoints.models.exact_json import ExactJSONField
from checkpoints.models.orchestrator import Orchestrator
from checkpoints.types import Severity, State

AWAITING_PERSON = (State.FLAGGED.value, State.ESCALATED.value)
CHANNEL = "handoff_changed"  # on which the database announces the ids of changed handoffs
NO_PREDECESSOR = (State.REJECTED.value, State.ABORTED.value, State.CANCELLED.value)  # contract §4, History
TERMINAL = (State.ACKNOWLEDGED.value, State.ABORTED.value, State.CANCELLED.value)


class Session(models.Model):
    """The sequence of handoffs of one run of work. Its row lock orders concurrent posts."""

    id = models.BigAutoField(primary_key=True)
    orchestrator = models.ForeignKey(Orchestrator, on_delete=models.PROTECT, related_name="sessions")
    session_id = models.TextField()
    last_sequence = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()

    class Meta:
        db_table = "session"
        constraints = [
            models.UniqueConstraint(fields=["orchestrator", "session_id"], name="session_one_per_name"),
        ]
        indexes = [models.Index(Collate(Lower("session_id"), "C"), name="session_lookup")]


_NO_TASK = models.Value("", output_field=models.TextField())


class HandoffQuerySet(models.QuerySet["Handoff"]):
    """The vocabulary of reads; views never filter on state strings."""

    def of(self, orchestrator: Orchestrator) -> Self:
        return self.filter(orchestrator=orchestrator)

    def with_names(self) -> Self:
        """Joined with session and orchestrator, whose names every representation shows."""
        return self.select_related("session", "orchestrator")

    def read_now(self) -> Self:
        """Each row with `read_at`, the database's time of the reading."""
        return self.annotate(read_at=Now())

    def awaiting_person(self) -> Self:
        """The review queue: flagged or escalated."""
        return self.filter(state__in=AWAITING_PERSON)

    def high_risk(self) -> Self:
        return self.awaiting_person().filter(risk="high")

    def wants_second_approver(self) -> Self:
        """Waiting with an approval already, and at least one more to come."""
        return self.awaiting_person().filter(
            approvals_required__gte=2, approvals_given__gte=1, approvals_given__lt=F("approvals_required")
        )

    def escalated(self) -> Self:
        return self.filter(state=State.ESCALATED)

    def rejected_unseen(self) -> Self:
        """Rejected ones that nobody saw and no later checkpoint of the same session and task replaced."""
        later = Handoff.objects.annotate(task=Coalesce("task_id", _NO_TASK)).filter(
            session_id=models.OuterRef("session_id"),
            task=Coalesce(models.OuterRef("task_id"), _NO_TASK),
            handoff_sequence__gt=models.OuterRef("handoff_sequence"),
        )
        return self.filter(state=State.REJECTED).exclude(models.Exists(later))

    def unjudged(self) -> Self:
        return self.filter(state=State.RECEIVED)


class Handoff(models.Model):
    """Current position of one handoff. Only `services.transition` writes `state`."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    orchestrator = models.ForeignKey(Orchestrator, on_delete=models.PROTECT, related_name="handoffs")
    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="handoffs")

    # Names, from the sender or assigned; never changed.
    checkpoint_id = models.TextField()
    id_assigned = models.BooleanField(default=False)  # the server made checkpoint_id: body_digest is the key
    handoff_sequence = models.BigIntegerField()
    format = models.CharField(max_length=40)
    body_digest = models.CharField(max_length=71)

    # Facts of the current revision (an index over its bytes).
    source_id = models.TextField(null=True)
    agent_id = models.TextField(null=True)
    agent_role = models.TextField(null=True)
    target_role = models.TextField(null=True)
    task_id = models.TextField(null=True)
    run_id = models.TextField(null=True)
    turn_id = models.TextField(null=True)
    parent_run_id = models.TextField(null=True)
    delegation_depth = models.BigIntegerField(null=True)
    sender_risk = models.CharField(max_length=10, null=True)
    human_approval_required = models.BooleanField(default=False)
    sender_ticket_reference = models.TextField(null=True)
    idempotency_key = models.TextField()
    title = models.TextField()
    revision = models.PositiveIntegerField(default=1)
    content_digest = models.CharField(max_length=71)

    # Position.
    state = models.CharField(max_length=20, default=State.RECEIVED.value)
    version = models.BigIntegerField(default=1)  # grows with every change of the representation
    received_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    # Checking: claim and lease of the drain.
    check_attempts = models.PositiveSmallIntegerField(default=0)
    check_lease_until = models.DateTimeField(null=True)
    check_claimed_by = models.BigIntegerField(null=True)  # advisory lock key of the claiming drain

    # Verdict on the current revision.
    outcome = models.CharField(max_length=10, null=True)
    reasons = ArrayField(models.CharField(max_length=20), default=list)
    severity = models.PositiveSmallIntegerField(default=0)  # rank of the worst finding; 0 = none
    first_finding = models.TextField(blank=True, default="")  # its title, in words
    finding_codes = ArrayField(models.CharField(max_length=10), default=list)
    finding_count = models.PositiveIntegerField(default=0)
    risk = models.CharField(max_length=10, null=True)
    urgency = models.GeneratedField(  # rank a person sorts by: of the worst finding, and 3 for high risk
        expression=Case(
            When(risk="high", then=Greatest("severity", Value(Severity.HIGH.rank))), default=F("severity")
        ),
        output_field=models.SmallIntegerField(),
        db_persist=True,
    )
    policy_version = models.IntegerField(null=True)
    checked_at = models.DateTimeField(null=True)
    likeness = models.CharField(
        max_length=71, null=True
    )  # digest of the content without ids and times (HC-78)
    judged_after = models.BigIntegerField(null=True)  # a higher sequence had its verdict already (HC-45)

    # Review.
    round = models.PositiveIntegerField(default=0)  # grows each time approvals start anew
    flagged_at = models.DateTimeField(null=True)
    review_deadline = models.DateTimeField(null=True)
    approvals_required = models.PositiveSmallIntegerField(default=0)
    approvals_given = models.PositiveSmallIntegerField(default=0)
    reopened = models.BooleanField(default=False)
    approval_ticket_reference = models.TextField(null=True)
    decided_at = models.DateTimeField(null=True)

    # Dispatch.
    max_retries = models.PositiveIntegerField(default=0)  # effective: the smaller of document and policy
    last_attempt = models.PositiveIntegerField(default=0)
    round_attempts = models.PositiveIntegerField(
        default=0
    )  # since the last clearance or approval, refused ones not counted
    acknowledge_by = models.DateTimeField(null=True)  # of the attempt in flight
    not_before = models.DateTimeField(null=True)
    expected_return = models.BooleanField(default=False, db_default=False)  # the receiver hands the task back
    return_by = models.DateTimeField(null=True)  # until then it should have, counted from the acknowledgement

    read_at: datetime  # only on rows of `read_now`

    objects: ClassVar[models.Manager[Handoff]] = HandoffQuerySet.as_manager()

    class Meta:
        db_table = "handoff"
        constraints = [
            models.UniqueConstraint(
                fields=["orchestrator", "checkpoint_id"], name="handoff_one_per_checkpoint_id"
            ),
            models.UniqueConstraint(fields=["session", "handoff_sequence"], name="handoff_one_per_sequence"),
            models.UniqueConstraint(
                fields=["session", "body_digest"],
                condition=Q(id_assigned=True),
                name="handoff_natural_key",
            ),
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in State]), name="handoff_known_state"
            ),
            models.CheckConstraint(
                condition=~Q(state="approved") | Q(approval_ticket_reference__isnull=False),
                name="handoff_approved_has_ticket",
            ),
            models.CheckConstraint(
                condition=Q(handoff_sequence__gte=1, handoff_sequence__lte=2**53 - 1),
                name="handoff_sequence_range",
            ),
        ]
        indexes = [
            models.Index(
                fields=["-decided_at"], condition=Q(decided_at__isnull=False), name="handoff_last_decided"
            ),
            models.Index(
                fields=["return_by"], condition=Q(return_by__isnull=False), name="handoff_return_due"
            ),
            models.Index(
                fields=["session", "handoff_sequence"],
                condition=Q(state="received"),
                name="handoff_unjudged",
            ),
            models.Index(fields=["received_at"], condition=Q(state="received"), name="handoff_due"),
            models.Index(
                fields=["-urgency", "review_deadline", "id"],
                condition=Q(state__in=AWAITING_PERSON),
                name="handoff_queue",
            ),
            models.Index(
                fields=["-urgency", "review_deadline", "id"],
                condition=Q(state__in=AWAITING_PERSON, risk="high"),
                name="handoff_high_risk",
            ),
            models.Index(
                fields=["-urgency", "review_deadline", "id"],
                condition=Q(state__in=AWAITING_PERSON, approvals_given__gte=1),
                name="handoff_half_approved",
            ),
            models.Index(
                fields=["review_deadline"],
                condition=Q(state__in=AWAITING_PERSON),
                name="handoff_review_expiry",
            ),
            models.Index(fields=["acknowledge_by"], condition=Q(state="dispatched"), name="handoff_ack_due"),
            models.Index(
                fields=["-received_at", "-id"], condition=Q(state="rejected"), name="handoff_rejected"
            ),
            models.Index(
                fields=["-urgency", "review_deadline", "id"],
                condition=Q(state="escalated"),
                name="handoff_escalated",
            ),
            models.Index(fields=["orchestrator", "-received_at", "-id"], name="handoff_newest_first"),
            models.Index(fields=["orchestrator", "review_deadline", "id"], name="handoff_by_deadline"),
            models.Index(fields=["orchestrator", "handoff_sequence", "id"], name="handoff_by_sequence"),
            models.Index(fields=["-received_at", "-id"], name="handoff_all_newest_first"),
            # History (services.history): each look-up is one step down one of these, however long the session is.
            models.Index(
                fields=["session", "-handoff_sequence"],
                condition=Q(checked_at__isnull=False),
                name="handoff_judged",
            ),
            models.Index(
                F("session"),
                Coalesce("task_id", Value("")),
                Coalesce("agent_role", Value("")),
                F("handoff_sequence").desc(),
                condition=~Q(state__in=NO_PREDECESSOR),
                name="handoff_history",
            ),
            models.Index(
                fields=["session", "turn_id", "run_id", "-handoff_sequence"],
                condition=Q(run_id__isnull=False),
                name="handoff_run_history",
            ),
            models.Index(
                fields=["session", "run_id", "source_id", "turn_id", "-handoff_sequence"],
                condition=Q(run_id__isnull=False),
                name="handoff_by_source_id",
            ),
            models.Index(
                F("session"),
                Coalesce("task_id", Value("")),
                Coalesce("agent_role", Value("")),
                F("handoff_sequence").desc(),
                condition=Q(state__in=["aborted", "cancelled"]),
                name="handoff_stopped",
            ),
            models.Index(
                F("session"),
                F("task_id"),
                F("agent_role"),
                F("target_role"),
                -F("handoff_sequence"),
                name="handoff_pair",
            ),
            models.Index(fields=["orchestrator", "idempotency_key", "-received_at"], name="handoff_by_key"),
            models.Index(
                fields=["orchestrator", "run_id", "session", "-handoff_sequence"],
                condition=Q(run_id__isnull=False),
                name="handoff_by_run",
            ),
            GinIndex(fields=["finding_codes"], name="handoff_by_finding"),
            # People look things up by the beginning of a name, whatever its case.
            models.Index(Collate(Lower("checkpoint_id"), "C"), name="handoff_lookup"),
            models.Index(
                Collate(Lower("source_id"), "C"),
                condition=Q(source_id__isnull=False),
                name="handoff_source_lookup",
            ),
        ]

    @property
    def retries_left(self) -> int:
        return retries_left(max_retries=self.max_retries, attempts=self.round_attempts)


class Attempt(models.Model):
    """One try to dispatch. `answer` is what the orchestrator was told, without payload and ticket text."""

    id = models.BigAutoField(primary_key=True)
    handoff = models.ForeignKey(Handoff, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    revision = models.PositiveIntegerField()
    content_digest = models.CharField(max_length=71)
    idempotency_key = models.CharField(max_length=255, null=True)  # of the request
    dispatched_at = models.DateTimeField()
    acknowledge_by = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=12, null=True)
    detail = models.TextField(blank=True, default="")
    mismatched = models.BooleanField(default=False)  # the receiver acknowledged other content
    receiver = models.TextField(null=True)
    answer = ExactJSONField()

    class Meta:
        db_table = "attempt"
        constraints = [
            models.UniqueConstraint(fields=["handoff", "number"], name="attempt_one_per_number"),
            models.UniqueConstraint(
                fields=["handoff"], condition=Q(ended_at__isnull=True), name="attempt_one_in_flight"
            ),
        ]
