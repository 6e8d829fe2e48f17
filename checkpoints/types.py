"""The values that travel between the layers: closed sets and frozen dataclasses, no framework.

Times are aware UTC datetimes, sizes bytes, durations seconds. JSON pointers are RFC 6901 strings into
the payload (envelope form) or the whole document (flat form).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from types import MappingProxyType

type JSONValue = None | bool | int | float | str | list[JSONValue] | dict[str, JSONValue]
type JSONObject = dict[str, JSONValue]


def rfc3339(at: datetime) -> str:
    """A time as every answer, digest and signature writes it: UTC, microseconds, Z."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Severity(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"

    @property
    def rank(self) -> int:
        """3 for high, 1 for low: greater is worse."""
        return {"high": 3, "medium": 2, "low": 1}[self.value]


class Disposition(StrEnum):
    REJECT = "reject"
    REVIEW = "review"
    WARN = "warn"
    IGNORE = "ignore"


class Outcome(StrEnum):
    CLEARED = "cleared"
    FLAGGED = "flagged"
    REJECTED = "rejected"


class Reason(StrEnum):
    """Why an item was flagged (contract §2.4), in the order in which the API lists them."""

    FINDINGS = "findings"
    RISK = "risk"
    SENDER = "sender"
    AWAITING_APPROVAL = "awaiting_approval"
    BLOCKING_DECISION = "blocking_decision"
    RECONCILIATION = "reconciliation"
    INTERRUPT = "interrupt"
    REPORTED = "reported"
    CHECK_FAILURE = "check_failure"


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    @property
    def rank(self) -> int:
        return {"low": 1, "medium": 2, "high": 3}[self.value]


class Gate(StrEnum):
    ADMISSION = "admission"
    CHECKS = "checks"


class Origin(StrEnum):
    OURS = "ours"
    REPORTED = "reported"


class State(StrEnum):
    RECEIVED = "received"
    REJECTED = "rejected"
    FLAGGED = "flagged"
    CLEARED = "cleared"
    APPROVED = "approved"
    DISPATCHED = "dispatched"
    RECOVERABLE = "recoverable"
    ESCALATED = "escalated"
    ACKNOWLEDGED = "acknowledged"
    ABORTED = "aborted"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and in which request: the same four facts in every audit entry."""

    kind: str  # orchestrator | person | system
    id: str  # the orchestrator's name, u_…, or the part of the system
    label: str
    request_id: str | None = None
    trace_id: str | None = None


COMMAND_LINE = Actor(kind="system", id="system:cli", label="Command line")


@dataclass(frozen=True, slots=True)
class Limits:
    """Admission limits (contract §3)."""

    body_bytes: int = 1 << 20
    depth: int = 64
    values: int = 100_000


@dataclass(frozen=True, slots=True)
class Finding:
    """What the API, the pages and the audit show of one result of a check."""

    code: str
    name: str
    severity: Severity
    disposition: Disposition
    pointer: str
    message: str
    expected: JSONValue = None
    actual: JSONValue = None
    origin: Origin = Origin.OURS


@dataclass(frozen=True, slots=True)
class Hit:
    """What a check saw. The runner adds name, severity and disposition from catalogue and policy.

    `severity` is set only where the catalogue's entry says that the code is weaker in this case.
    """

    code: str
    pointer: str
    message: str
    expected: JSONValue = None
    actual: JSONValue = None
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A question that waits for an answer, wherever the format keeps it."""

    decision_id: str
    question: str
    options: tuple[str, ...]
    blocking: bool
    pointer: str
    recommendation: str | None = None


@dataclass(frozen=True, slots=True)
class ReportedIssue:
    """One of the sender's own consistency issues."""

    code: str | None
    severity: Severity
    pointer: str
    message: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The normalised reading of one document: an index over the bytes, never their replacement.

    Reading is total: a member of a wrong type reads as None or empty here and is a finding elsewhere.
    """

    source_id: str | None = None
    agent_id: str | None = None
    agent_role: str | None = None
    target_role: str | None = None
    task_id: str | None = None
    task_status: str | None = None  # folded to the vocabulary of HC-04, else as received
    run_id: str | None = None
    turn_id: str | None = None
    parent_run_id: str | None = None
    delegation_depth: int | None = None
    risk_level: Risk | None = None  # the sender's, `normal` and `critical` already mapped
    human_approval_required: bool = False
    handoff_reason: str | None = None
    user_intent: str | None = None
    produced_at: datetime | None = None
    sender_ticket_reference: str | None = None
    idempotency_key: str | None = None
    max_retries: int | None = None
    attempt: int | None = None
    rollback_notes: str | None = None
    expected_return: bool = False
    claimed_hash: str | None = None
    claimed_fingerprint: str | None = None
    completed_step_ids: tuple[str, ...] = ()
    call_ids: tuple[str, ...] = ()
    tool_names: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    pending_decisions: tuple[PendingDecision, ...] = ()
    reconciliation_required: bool = False
    waits_for_person: bool = False  # reason `interrupt`: a framework document that is paused for somebody
    already_committed: tuple[str, ...] = ()
    needs_reconciliation: tuple[str, ...] = ()
    reported_issues: tuple[ReportedIssue, ...] = ()


@dataclass(frozen=True, slots=True)
class Submission:
    """A body that can be named and stored: what admission made of the bytes.

    `document` is the whole parsed body, `envelope` its members beside `payload` (empty in the flat form),
    `payload` the part that checks judge and that digests cover (the whole document in the flat form).
    `checkpoint_id` and `handoff_sequence` are None where the server assigns them.
    """

    form: str  # "envelope" | "flat"
    format: str
    document: JSONObject
    envelope: JSONObject
    payload: JSONObject
    session_id: str
    checkpoint_id: str | None
    handoff_sequence: int | None
    body_digest: str  # "sha256:…" over the bytes received
    content_digest: str  # "sha256:…" over the canonical payload
    body_size: int
    facts: Facts

    @property
    def title(self) -> str:
        """One line of the agent's own words: the handoff's reason, else the user's intent, else the task."""
        return self.facts.handoff_reason or self.facts.user_intent or self.facts.task_id or self.format


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that a person gave here to a pending decision of this session."""

    decision_id: str
    question: str
    options: tuple[str, ...]
    answer: str
    checkpoint_id: str


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A run already seen from this orchestrator."""

    run_id: str
    session_id: str
    turn_id: str | None
    parent_run_id: str | None
    delegation_depth: int | None


@dataclass(frozen=True, slots=True)
class RoleRule:
    capabilities: tuple[str, ...] = ()
    may_hand_off_to: tuple[str, ...] | None = None
    fallback_role: str | None = None


@dataclass(frozen=True, slots=True)
class CheckRule:
    """The policy's override for one code; None leaves the catalogue's default."""

    severity: Severity | None = None
    disposition: Disposition | None = None


@dataclass(frozen=True, slots=True)
class RiskRule:
    """All members of `when` must match; a value is one of the listed strings."""

    when: Mapping[str, tuple[str, ...]]
    level: Risk


def _empty[K, V]() -> Mapping[K, V]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CheckPolicy:
    """The compiled policy (contract §8); defaults are those of an empty document."""

    version: int = 0
    roles: Mapping[str, RoleRule] = field(default_factory=_empty)
    required_from: Mapping[str, tuple[str, ...]] = field(default_factory=_empty)
    required_to: Mapping[str, tuple[str, ...]] = field(default_factory=_empty)
    conflicting_constraints: tuple[tuple[str, str], ...] = ()
    risk_default: Risk = Risk.MEDIUM
    risk_rules: tuple[RiskRule, ...] = ()
    approvals: Mapping[Risk, int] = field(
        default_factory=lambda: MappingProxyType({Risk.LOW: 1, Risk.MEDIUM: 1, Risk.HIGH: 2})
    )
    self_approval_of_edits: Mapping[Risk, bool] = field(
        default_factory=lambda: MappingProxyType({Risk.LOW: True, Risk.MEDIUM: True, Risk.HIGH: False})
    )
    checks: Mapping[str, CheckRule] = field(default_factory=_empty)
    opaque: Disposition = Disposition.REVIEW
    max_document_bytes: int = 262_144
    max_context_tokens: int = 2000
    clock_skew_seconds: int = 300
    handoff_timeout_seconds: int = 900
    max_retries: int = 5
    retry_backoff_seconds: tuple[int, ...] = (0, 30, 120)
    reference_schemes: tuple[str, ...] = ("s3", "gs", "az", "artifact", "https")
    task_id_matches: Callable[[str], bool] | None = None
    external_ticket_matches: Callable[[str], bool] | None = None
    external_ticket_url: str | None = None
    external_ticket_required_for: tuple[Risk, ...] = ()
    approval_valid_seconds: int = 900
    approval_reissue_seconds: int = 86_400
    review_deadline_seconds: Mapping[Risk, int] = field(
        default_factory=lambda: MappingProxyType({Risk.LOW: 14_400, Risk.MEDIUM: 3600, Risk.HIGH: 900})
    )
    review_on_expiry: str = "escalate"
    claim_seconds: int = 600
    strict_non_empty: bool = False
    retention_days: int = 365


@dataclass(frozen=True, slots=True)
class CheckContext:
    """Everything a check may know besides the document. Collected by the services, never by a check."""

    received_at: datetime
    policy: CheckPolicy
    checkpoint_id: str
    handoff_sequence: int
    # Contract §4, History: the predecessor whose content is compared, in its current revision.
    previous: Submission | None = None
    previous_sequence: int | None = None
    # Session order, whatever the role: the highest sequence already judged, and the free numbers below this one.
    highest_judged_sequence: int | None = None
    missing_sequences: tuple[int, ...] = ()
    # Registries of this orchestrator. None = not looked up (for example by `check_file`): not judged.
    known_ticket: bool | None = None
    idempotency_key_used_by: str | None = None
    answers: Mapping[str, Answer] = field(default_factory=_empty)
    equal_posts: int = 0  # earlier handoffs of the same task, pair of roles and content (HC-78)
    role_alternations: int = 0  # direction changes of this pair of roles on this task so far (HC-80)
    foreign_call_ids: Mapping[str, str] = field(
        default_factory=_empty
    )  # call_id -> session that has another result
    same_source_id_digest: str | None = (
        None  # content digest under the same (session, run, source id) (EH-01)
    )
    known_runs: Mapping[str, KnownRun] = field(default_factory=_empty)
    count_tokens: Callable[[str], int] | None = None  # None: estimated as UTF-8 bytes / 4


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one complete run of the catalogue over one revision says."""

    outcome: Outcome
    reasons: tuple[Reason, ...]
    findings: tuple[Finding, ...]  # all but `ignore`, by severity, code, pointer
    risk: Risk
    approvals_required: int  # 0 unless flagged
    complete: bool  # every family ran to its end; False can never be cleared
    document_tokens: int
    context_tokens: int
    families: tuple[str, ...]  # the families that ran to their end
    not_judged: tuple[str, ...] = ()  # codes that the shape of the document left unjudged
