"""JSON Schemas of what the API takes and gives.

The OpenAPI file shows these, small request bodies are judged by them, and tests hold every answer against them.
"""

from __future__ import annotations

from typing import Final

from checkpoints.formats import FORMATS
from checkpoints.models import Action, Scope
from checkpoints.types import (
    Disposition,
    JSONObject,
    JSONValue,
    Origin,
    Outcome,
    Reason,
    Risk,
    Severity,
    State,
)

LONGEST_TEXT: Final = 4000
SHA256: Final = "^sha256:[0-9a-f]{64}$"


def closed(**members: JSONValue) -> JSONObject:
    """An object that has exactly these members."""
    return {
        "type": "object",
        "properties": {**members},
        "required": [*members],
        "additionalProperties": False,
    }


def _body(required: list[JSONValue], **members: JSONValue) -> JSONObject:
    """A request body: members may be left out, unknown ones are refused."""
    return {
        "type": "object",
        "properties": {**members},
        "required": required,
        "additionalProperties": False,
    }


def nullable(kind: str) -> JSONObject:
    return {"type": [kind, "null"]}


def one_of(values: list[str], *, or_null: bool = False) -> JSONObject:
    choices: list[JSONValue] = [*values]
    return {"enum": [*choices, None]} if or_null else {"type": "string", "enum": choices}


def array_of(item: JSONValue) -> JSONObject:
    return {"type": "array", "items": item}


def ref(name: str) -> JSONObject:
    return {"$ref": f"#/components/schemas/{name}"}


def page_of(name: str) -> JSONObject:
    """A list as every address gives it; next and previous are absolute addresses."""
    return closed(results=array_of(ref(name)), next=ADDRESS_OR_NULL, previous=ADDRESS_OR_NULL)


TEXT: Final[JSONObject] = {"type": "string"}
INTEGER: Final[JSONObject] = {"type": "integer"}
BOOLEAN: Final[JSONObject] = {"type": "boolean"}
ANYTHING: Final[JSONObject] = {}
OBJECT: Final[JSONObject] = {"type": "object"}
TIME: Final[JSONObject] = {"type": "string", "format": "date-time"}
TIME_OR_NULL: Final[JSONObject] = {"type": ["string", "null"], "format": "date-time"}
ADDRESS: Final[JSONObject] = {"type": "string", "format": "uri"}
ADDRESS_OR_NULL: Final[JSONObject] = {"type": ["string", "null"], "format": "uri"}
DIGEST: Final[JSONObject] = {"type": "string", "pattern": SHA256}
DIGEST_OR_NULL: Final[JSONObject] = {"type": ["string", "null"], "pattern": SHA256}

# Request bodies

ATTEMPT_NUMBER: Final[JSONObject] = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
GIVEN_DIGEST: Final[JSONObject] = {
    "type": ["string", "null"],
    "pattern": "^([sS][hH][aA]256:)?[0-9a-fA-F]{64}$",
    "description": "SHA-256 in hex, with or without `sha256:`.",
}


def _said(least: int = 1) -> JSONObject:
    return {"type": "string", "minLength": least, "maxLength": LONGEST_TEXT}


DISPATCH: Final = _body([])
ACK: Final = _body(
    ["attempt"],
    attempt=ATTEMPT_NUMBER,
    content_digest=GIVEN_DIGEST,
    receiver={"type": ["string", "null"], "maxLength": 200},
)
FAIL: Final = _body(
    ["attempt", "kind", "detail"],
    attempt=ATTEMPT_NUMBER,
    kind=one_of(["error", "crashed", "timed_out"]),
    detail=_said(0),
)
REFUSE: Final = _body(["attempt", "reason"], attempt=ATTEMPT_NUMBER, reason=_said())
CANCEL: Final = _body(["reason"], reason=_said())
VERIFY: Final = _body(
    ["ticket"],
    ticket={"type": "string", "maxLength": 65_536},
    audience={"type": ["string", "null"], "maxLength": 1000},
    content_digest=GIVEN_DIGEST,
)
CHECKPOINT: Final[JSONObject] = {
    "type": "object",
    "description": "An envelope (an object with an object member `payload`) or the flat document. "
    "The schemas of the formats stand at /api/v1/schemas.",
}
BATCH: Final = _body(["items"], items={"type": "array", "minItems": 1, "maxItems": 100, "items": ANYTHING})

# Answers

FINDING: Final = closed(
    code=TEXT,
    name=TEXT,
    severity=one_of([item.value for item in Severity]),
    disposition=one_of([item.value for item in Disposition if item is not Disposition.IGNORE]),
    pointer=TEXT,
    message=TEXT,
    expected=ANYTHING,
    actual=ANYTHING,
    origin=one_of([item.value for item in Origin]),
)
VERDICT: Final = closed(
    outcome=one_of([item.value for item in Outcome]),
    reasons=array_of(one_of([item.value for item in Reason])),
    checked_at=TIME,
    policy_version=INTEGER,
    document_tokens=INTEGER,
    context_tokens=INTEGER,
)
ANSWER: Final[JSONObject] = {
    "type": "object",
    "properties": {"decision_id": TEXT, "answer": ANYTHING},
    "required": ["decision_id", "answer"],
}
RECONCILIATION: Final[JSONObject] = {
    "type": "object",
    "properties": {"request_id": TEXT, "outcome": TEXT},
    "required": ["request_id", "outcome"],
}
DECISION: Final = closed(
    action=one_of([str(item.value) for item in Action]),
    by=closed(id=TEXT, label=TEXT),
    role=TEXT,
    reason=TEXT,
    at=TIME,
    revision=INTEGER,
    content_digest=DIGEST,
    answers=array_of(ANSWER),
    reconciliations=array_of(RECONCILIATION),
    advice=one_of(["restart", "fallback", "none"]),
    question=nullable("string"),
    external_ticket=nullable("string"),
)
ATTEMPT: Final = closed(
    number=INTEGER,
    dispatched_at=TIME,
    acknowledge_by=TIME,
    ended_at=TIME_OR_NULL,
    outcome=one_of(["acknowledged", "failed", "refused", "timed_out", "cancelled"], or_null=True),
)
HANDOFF: Final = closed(
    checkpoint_id=TEXT,
    session_id=TEXT,
    handoff_sequence=INTEGER,
    format=one_of([*FORMATS]),
    source_id=nullable("string"),
    agent_id=nullable("string"),
    agent_role=nullable("string"),
    target_role=nullable("string"),
    task_id=nullable("string"),
    risk_level=one_of([item.value for item in Risk], or_null=True),
    human_approval_required=BOOLEAN,
    state=one_of([item.value for item in State]),
    verdict={"oneOf": [ref("Verdict"), {"type": "null"}]},
    findings=array_of(ref("Finding")),
    warnings=array_of(ref("Finding")),
    revision=INTEGER,
    revises=nullable("integer"),
    content_digest=DIGEST,
    body_digest=DIGEST,
    approvals=closed(required=INTEGER, given=INTEGER),
    approval_ticket_reference=nullable("string"),
    sender_ticket_reference=nullable("string"),
    decisions=array_of(ref("Decision")),
    attempts=array_of(ref("Attempt")),
    max_retries=INTEGER,
    retries_left=INTEGER,
    not_before=TIME_OR_NULL,
    review_deadline=TIME_OR_NULL,
    received_at=TIME,
    links=closed(self=ADDRESS, review=ADDRESS, body=ADDRESS, session=ADDRESS),
)
DISPATCHED: Final = closed(
    attempt=INTEGER,
    checkpoint_id=TEXT,
    session_id=TEXT,
    handoff_sequence=INTEGER,
    target_role=nullable("string"),
    revision=INTEGER,
    content_digest=DIGEST,
    payload=OBJECT,
    idempotency_key=TEXT,
    warnings=array_of(ref("Finding")),
    already_committed=array_of(TEXT),
    needs_reconciliation=array_of(TEXT),
    answers=array_of(ANSWER),
    reconciliations=array_of(RECONCILIATION),
    approval_ticket_reference=nullable("string"),
    approval_ticket=nullable("string"),
    acknowledge_by=TIME,
    retries_left=INTEGER,
)
_RESUME: Final = closed(
    checkpoint=OBJECT,
    maxIterations=ANYTHING,
    maxModelAttempts=ANYTHING,
    lastJournalSequence=INTEGER,
)
RECOVERY: Final[JSONObject] = {
    **closed(
        action=one_of(["none", "wait", "review", "dispatch", "restart", "answer"]),
        reason=TEXT,
        question=nullable("string"),
        not_before=TIME_OR_NULL,
        checkpoint_id=nullable("string"),
        handoff_sequence=nullable("integer"),
        revision=nullable("integer"),
        next_attempt=nullable("integer"),
        retries_left=nullable("integer"),
        payload=nullable("object"),
        content_digest=DIGEST_OR_NULL,
        idempotency_key=nullable("string"),
        rollback_notes=nullable("string"),
        already_committed={"type": ["array", "null"], "items": TEXT},
        needs_reconciliation={"type": ["array", "null"], "items": TEXT},
        reconciliations={"type": ["array", "null"], "items": RECONCILIATION},
        fallback_role=nullable("string"),
        pending={
            "oneOf": [
                closed(
                    checkpoint_id=TEXT,
                    handoff_sequence=INTEGER,
                    state=one_of([item.value for item in State]),
                ),
                {"type": "null"},
            ]
        },
        resume=_RESUME,
        resume_effect=one_of(["same_iteration", "next_iteration", "commit_output", "blocked"]),
    ),
    "description": "`resume` and `resume_effect` stand only where the snapshot is a Prompty engine checkpoint.",
}
RECOVERY["required"] = [
    name
    for name in RECOVERY["required"]  # type: ignore[union-attr]
    if name not in ("resume", "resume_effect")
]
SESSION: Final = closed(
    session_id=TEXT,
    handoffs=array_of(ref("Handoff")),
    next=ADDRESS_OR_NULL,
    gaps=array_of(INTEGER),
    runs=array_of(
        closed(
            run_id=TEXT,
            parent_run_id=nullable("string"),
            depth=nullable("integer"),
            checkpoint_ids=array_of(TEXT),
        )
    ),
    state_counts={"type": "object", "additionalProperties": INTEGER},
)
PROBLEM_ERROR: Final = closed(pointer=TEXT, code=TEXT, detail=TEXT)
PROBLEM: Final[JSONObject] = {
    **closed(
        type={"type": "string", "pattern": "^/problems/[a-z0-9-]+$"},
        title=TEXT,
        status=INTEGER,
        detail=TEXT,
        instance=TEXT,
        request_id=TEXT,
        errors=array_of(PROBLEM_ERROR),
    ),
    "additionalProperties": True,
    "description": "RFC 9457. Some types have more members, such as `state` and `allowed`.",
}
REFUSAL: Final = closed(
    id={"type": "string", "format": "uuid"},
    at=TIME,
    status=INTEGER,
    type=TEXT,
    errors=array_of(PROBLEM_ERROR),
    session_id=nullable("string"),
    checkpoint_id=nullable("string"),
    body_digest=DIGEST,
    size=INTEGER,
    expires_at=TIME,
)
BATCH_ANSWER: Final = closed(
    results=array_of(
        {
            "oneOf": [
                closed(status={"enum": [200, 201]}, handoff=ref("Handoff")),
                closed(status={"type": "integer", "minimum": 400}, problem=ref("Problem")),
            ]
        }
    )
)
CHECK: Final = closed(
    code=TEXT,
    name=TEXT,
    family=TEXT,
    gate=one_of(["admission", "checks"]),
    formats=array_of(TEXT),
    severity=one_of([item.value for item in Severity]),
    disposition=one_of([item.value for item in Disposition]),
    conditions=TEXT,
    title=TEXT,
    why=TEXT,
    fix=TEXT,
    prevent=TEXT,
)
FORMAT: Final = closed(format=TEXT, title=TEXT, schema=ADDRESS)
DIGESTS: Final[JSONObject] = {
    **closed(
        canonical=TEXT,
        digest=DIGEST,
        body_digest=DIGEST,
        consistency_hash=DIGEST_OR_NULL,
        context_fingerprint=DIGEST_OR_NULL,
        matches=TEXT,
    ),
    "required": ["canonical", "digest", "body_digest", "consistency_hash", "context_fingerprint"],
}
POLICY: Final = closed(version=INTEGER, published_at=TIME_OR_NULL, document=OBJECT)
PROMPT: Final = closed(prompt=TEXT, policy_version=INTEGER)
TICKET_STATES: Final = ["issued", "redeemed", "revoked", "expired"]
APPROVER: Final = closed(id=TEXT, role=TEXT, at=TIME)
TICKET: Final = closed(
    reference=TEXT,
    state=one_of(TICKET_STATES),
    checkpoint_id=TEXT,
    revision=INTEGER,
    content_digest=DIGEST,
    audience=TEXT,
    issued_at=TIME,
    expires_at=TIME,
    redeemed_at=TIME_OR_NULL,
    approvers=array_of(APPROVER),
)
VERIFICATION: Final = closed(
    valid=BOOLEAN,
    problems=array_of(TEXT),
    claims=nullable("object"),
    state=one_of([*TICKET_STATES, "unknown"]),
)
KEYS: Final = closed(keys=array_of(closed(kty=TEXT, crv=TEXT, x=TEXT, kid=TEXT, alg=TEXT, use=TEXT)))
AUDIT_ENTRY: Final = closed(
    id={"type": "string", "format": "uuid"},
    at=TIME,
    action=TEXT,
    actor=closed(kind=TEXT, id=TEXT, label=nullable("string")),
    subject=closed(kind=TEXT, id=TEXT),
    reason=nullable("string"),
    before=ANYTHING,
    after=ANYTHING,
    request_id=nullable("string"),
    trace_id=nullable("string"),
    policy_version=nullable("integer"),
    digest=DIGEST,
    previous_digest=DIGEST_OR_NULL,
    text_commitment=DIGEST,
    salt=nullable("string"),
    leaf_index=nullable("integer"),
)
HASHES_OR_NULL: Final[JSONObject] = {"type": ["array", "null"], "items": DIGEST}
TREE_HEAD_MEMBERS: Final[JSONObject] = {
    "size": INTEGER,
    "root": DIGEST,
    "at": TIME,
    "note": TEXT,
    "verifier_key": TEXT,
}
TREE_HEAD: Final = closed(**TREE_HEAD_MEMBERS, consistency=HASHES_OR_NULL)
AUDIT_PROOF: Final = closed(
    id={"type": "string", "format": "uuid"},
    digest=DIGEST,
    leaf_index=nullable("integer"),
    leaf_hash=DIGEST_OR_NULL,
    path=HASHES_OR_NULL,
    head={"oneOf": [closed(**TREE_HEAD_MEMBERS), {"type": "null"}]},
)
HEALTH: Final = closed(status=TEXT)
READINESS: Final = closed(
    status=one_of(["ready", "degraded", "starting"]),
    checks=closed(database=TEXT, migrations=TEXT, worker=TEXT, broker=TEXT),
)
PROBLEM_TYPE: Final = closed(type=TEXT, title=TEXT, status=INTEGER, meaning=TEXT)

COMPONENTS: Final[dict[str, JSONObject]] = {
    "Attempt": ATTEMPT,
    "AuditEntry": AUDIT_ENTRY,
    "AuditProof": AUDIT_PROOF,
    "BatchAnswer": BATCH_ANSWER,
    "Check": CHECK,
    "Decision": DECISION,
    "Digests": DIGESTS,
    "Dispatched": DISPATCHED,
    "Finding": FINDING,
    "Format": FORMAT,
    "Handoff": HANDOFF,
    "Health": HEALTH,
    "Keys": KEYS,
    "Policy": POLICY,
    "Problem": PROBLEM,
    "ProblemType": PROBLEM_TYPE,
    "Prompt": PROMPT,
    "Readiness": READINESS,
    "Recovery": RECOVERY,
    "Refusal": REFUSAL,
    "Session": SESSION,
    "Ticket": TICKET,
    "TreeHead": TREE_HEAD,
    "Verdict": VERDICT,
    "Verification": VERIFICATION,
}

SCOPES: Final = {str(scope.value): str(scope.value) for scope in Scope}
