"""For every code a document that fails it and a near miss that does not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from checkpoints.formats import covered_object
from checkpoints.types import Answer, JSONObject
from tests.checks.documents import Change, all_of, base, enveloped, sealed, set_at, without

UNCHANGED = all_of()


@dataclass(frozen=True)
class Case:
    """`fails` makes the code speak at `pointer`; `near` is as close as a document may come without it."""

    code: str
    fails: Change
    pointer: str
    near: Change
    severity: str = "high"
    label: str = ""
    policy: JSONObject = field(default_factory=dict)
    near_policy: JSONObject | None = None
    before: Change | None = None  # makes the predecessor from the base
    near_before: Change | None = None
    known: Mapping[str, object] = field(default_factory=dict)
    near_known: Mapping[str, object] | None = None

    @property
    def name(self) -> str:
        return f"{self.code}__{self.label}" if self.label else self.code


def hash_with(serialise) -> Change:
    """Sets the hash over the covered members as another serialiser writes them."""

    def change(document: JSONObject) -> None:
        covered = covered_object(document, {})
        document["consistency_hash"] = hashlib.sha256(serialise(covered).encode()).hexdigest()

    return change


def seal_now(document: JSONObject) -> None:
    sealed(document)


STALE_HASH = all_of(seal_now, set_at("/completed_steps/0/description", "Collected everything"))
CITED = [f"Fact number {number} about the damage in the kitchen and its cause" for number in range(200)]
DUMP = "\n".join(f"row {number}: 17.50" for number in range(60))
ROLES: JSONObject = {"intake": {}, "assessor": {"capabilities": ["estimate_repair"]}, "payments": {}}
STEP = {"step_id": "call-plumber", "description": "Called", "output_reference": "artifact://c/1",
        "completed_at": "2026-03-02T08:48:00Z"}  # fmt: skip
BLOCKING = set_at("/pending_decisions/0/blocking", True)
NO_STEP = set_at("/in_progress_step", None)
COMPLETED = all_of(set_at("/task_status", "completed"), NO_STEP)
ANSWER = Answer(
    "excess", "Waive the excess?", ("waive", "keep", "halve"), "keep", "0195a6f2-1111-7111-8111-111111111111"
)
EARLIER = all_of(
    set_at("/checkpoint_id", "0195a6f2-4c1e-7b3a-9d55-2f0c8e1b7a63"),
    set_at("/handoff_sequence", 3),
    set_at("/timestamp", "2026-03-02T08:55:00Z"),
    set_at("/recovery_instructions/idempotency_key", "claims-2026-0311:3:CLM-207"),
)
KEY = "sk-proj-4f9aTz81LmQ0xYvB7cRe2HnW"

SINGLE = (
    Case("HC-01", without("/task_id"), "/task_id", UNCHANGED),
    Case("HC-01", set_at("/completed_steps", None), "/completed_steps", set_at("/completed_steps", []), label="null"),
    Case("HC-01", without("/handoff_target/target_role"), "/handoff_target/target_role",
         all_of(without("/handoff_target/target_role"), set_at("/target_role", "assessor")), label="target"),
    Case("HC-01", without("/context_snapshot"), "/context_snapshot",
         all_of(without("/context_snapshot"), set_at("/context_reference", "artifact://claims/207/context"),
                set_at("/context_fingerprint", "ab" * 32)), label="context"),
    Case("HC-01", without("/agent_id"), "/agent_id",
         all_of(without("/agent_id"), set_at("/agent_instance_id", "intake/2")), label="agent"),
    Case("HC-01", all_of(without("/task_status"), set_at("/task_state", {"task_id": "CLM-207"})), "/task_state/status",
         all_of(without("/task_status"), set_at("/task_state", {"status": "in_progress"})), label="status"),
    Case("HC-02", set_at("/agent_id", ""), "/agent_id", set_at("/agent_id", "x")),
    Case("HC-02", set_at("/handoff_target/target_role", "  "), "/handoff_target/target_role", UNCHANGED, label="blank"),
    Case("HC-02", set_at("/task_id", "T" * 201), "/task_id", set_at("/task_id", "T" * 200), label="long"),
    Case("HC-02", set_at("/pending_decisions", []), "/pending_decisions", set_at("/pending_decisions", []),
         label="strict", policy={"strict_non_empty": True}, near_policy={}),
    Case("HC-03", set_at("/pending_decisions/0/blocking", "false"), "/pending_decisions/0/blocking", UNCHANGED),
    Case("HC-03", set_at("/completed_steps", {"step_id": "s"}), "/completed_steps", UNCHANGED, label="list"),
    Case("HC-03", set_at("/active_constraints/0", 5), "/active_constraints/0", UNCHANGED, label="element"),
    Case("HC-03", set_at("/context_snapshot/key_facts/1", {"fact": 1}), "/context_snapshot/key_facts/1", UNCHANGED,
         label="fact"),
    Case("HC-03", set_at("/human_approval_required", "no"), "/human_approval_required", UNCHANGED, label="boolean"),
    Case("HC-03", set_at("/recovery_instructions/max_retries", "3"), "/recovery_instructions/max_retries",
         UNCHANGED, label="integer"),
    Case("HC-03", set_at("/task_status", ["blocked"]), "/task_status",
         set_at("/task_status", {"status": "in_progress"}), label="status"),
    Case("HC-03", enveloped(risk_level=2), "/risk_level", enveloped(risk_level="low"), label="envelope"),
    Case("HC-04", set_at("/task_status", "done"), "/task_status", set_at("/task_status", "In Progress")),
    Case("HC-04", set_at("/risk_level", "extreme"), "/risk_level", set_at("/risk_level", "Normal"), label="risk"),
    Case("HC-05", set_at("/timestamp", "02/03/2026 09:00"), "/timestamp",
         set_at("/timestamp", "2026-03-02T09:00:00.123456789+00:00"), severity="medium"),
    Case("HC-05", set_at("/completed_steps/0/completed_at", "2026-03-02T10:40:00+02:00"),
         "/completed_steps/0/completed_at", UNCHANGED, severity="medium", label="offset"),
    Case("HC-05", set_at("/in_progress_step/started_at", "2026-02-30T08:00:00Z"), "/in_progress_step/started_at",
         set_at("/in_progress_step/started_at", "2026-02-28T08:00:00Z"), severity="medium", label="no-such-day"),
    Case("HC-06", set_at("/approved_by", "me"), "/approved_by", set_at("/risk_level", "low"), severity="low"),
    Case("HC-06", enveloped(verdict="cleared"), "/verdict", enveloped(attempt=1), severity="low", label="envelope"),
    Case("HC-07", set_at("/completed_steps/0/description", "x" * 300_000), "",
         set_at("/completed_steps/0/description", "x" * 200_000)),
    Case("HC-08", set_at("/checkpoint_id", "ckpt-1"), "/checkpoint_id", UNCHANGED, severity="low"),
    Case("HC-09", set_at("/handoff_target/handoff_reason", "string, why the work is handed over"),
         "/handoff_target/handoff_reason",
         set_at("/handoff_target/handoff_reason", "The string, they say, was cut [REDACTED] in 2 | 3 places")),
    Case("HC-09", set_at("/context_snapshot/key_facts/0", "role name from [ROLE_REGISTRY]"),
         "/context_snapshot/key_facts/0",
         set_at("/context_snapshot/key_facts/0", "Roles stand in ROLE_REGISTRY"), label="brackets"),
    Case("HC-10", set_at("/context_snapshot/key_facts/1", f"The key is {KEY}"), "/context_snapshot/key_facts/1",
         set_at("/context_snapshot/key_facts/1",
                "Use task-management-for-kitchens-and-floors, sk-learn-based-model-one")),
    Case("HC-11", STALE_HASH, "/consistency_hash", UNCHANGED),
    Case("HC-12", set_at("/consistency_hash", "d41d8cd98f00b204e9800998ecf8427e"), "/consistency_hash", UNCHANGED),
    Case("HC-12", set_at("/consistency_hash", "ab" * 32 + "c"), "/consistency_hash", UNCHANGED, label="65-digits"),
    Case("HC-13", hash_with(json.dumps), "/consistency_hash", UNCHANGED, severity="medium"),
    Case("HC-13", hash_with(lambda value: json.dumps(value, sort_keys=True)), "/consistency_hash", UNCHANGED,
         severity="medium", label="sorted"),
    Case("HC-14", set_at("/consistency_hash", "0" * 64), "/consistency_hash", UNCHANGED),
    Case("HC-14", set_at("/consistency_hash", "sha256:" + hashlib.sha256(b"{}").hexdigest()), "/consistency_hash",
         UNCHANGED, label="empty-object"),
    Case("HC-15", all_of(seal_now, set_at("/context_snapshot/user_intent", "Get money")), "/context_fingerprint",
         UNCHANGED),
    Case("HC-15", all_of(without("/context_snapshot"), set_at("/context_reference", "artifact://c/207/context"),
                         set_at("/context_fingerprint", "ab" * 32)), "/context_fingerprint", UNCHANGED,
         severity="low", label="elsewhere"),
    Case("HC-18", set_at("/task_status", "completed"), "/in_progress_step",
         all_of(set_at("/task_status", "completed"),
                set_at("/in_progress_step", {"step_id": None, "started_at": None, "partial_output": None}))),
    Case("HC-19", all_of(COMPLETED, BLOCKING), "/pending_decisions/0/blocking", COMPLETED),
    Case("HC-20", all_of(COMPLETED, set_at("/completed_steps", [])), "/completed_steps", COMPLETED, severity="medium"),
    Case("HC-21", NO_STEP, "/in_progress_step", all_of(NO_STEP, set_at("/task_status", "blocked")), severity="medium"),
    Case("HC-22", set_at("/task_status", "blocked"), "/pending_decisions",
         all_of(set_at("/task_status", "blocked"), BLOCKING), severity="medium"),
    Case("HC-23", BLOCKING, "/pending_decisions/0/blocking", all_of(BLOCKING, set_at("/task_status", "blocked")),
         severity="medium"),
    Case("HC-23", BLOCKING, "/pending_decisions/0/blocking", BLOCKING, severity="medium", label="answered",
         near_known={"answers": {"excess": ANSWER}}),
    Case("HC-24", all_of(set_at("/task_status", "awaiting_approval"), set_at("/pending_decisions", [])), "/task_status",
         set_at("/task_status", "awaiting_approval")),
    Case("HC-25", all_of(set_at("/risk_level", "high"), without("/human_approval_required")),
         "/human_approval_required",
         all_of(set_at("/risk_level", "medium"), without("/human_approval_required")), severity="medium"),
    Case("HC-26", set_at("/risk_level", "critical"), "/human_approval_required",
         all_of(set_at("/risk_level", "high"), set_at("/human_approval_required", True))),
    Case("HC-26", UNCHANGED, "/human_approval_required", UNCHANGED, severity="low", label="by-policy",
         policy={"risk": {"rules": [{"when": {"target_role": "assessor"}, "level": "high"}]}},
         near_policy={"risk": {"rules": [{"when": {"target_role": "assessor", "agent_role": "x"}, "level": "high"}]}}),
    Case("HC-27", set_at("/human_approval_required", True), "/human_approval_required",
         all_of(set_at("/human_approval_required", True), set_at("/task_status", "awaiting_approval")), severity="low"),
    Case("HC-28", set_at("/approval_ticket_reference", "APR-7"), "/human_approval_required",
         all_of(set_at("/approval_ticket_reference", "APR-7"), set_at("/human_approval_required", True)),
         severity="medium", known={"known_ticket": False}),
    Case("HC-29", set_at("/task_state", "completed"), "/task_state", set_at("/task_state", "In progress")),
    Case("HC-29", set_at("/task_state", {"status": "in_progress", "task_id": "CLM-208"}), "/task_state/task_id",
         set_at("/task_state", {"status": "in_progress", "task_id": "CLM-207"}), label="object"),
    Case("HC-30", all_of(set_at("/task_status", "blocked"), set_at("/pending_decisions", [])), "/pending_decisions",
         set_at("/pending_decisions", []), severity="medium"),
    Case("HC-31", set_at("/completed_steps/1/step_id", "collect"), "/completed_steps/1/step_id",
         set_at("/completed_steps/1/step_id", "Collect")),
    Case("HC-32", set_at("/in_progress_step/step_id", "policy-lookup"), "/in_progress_step/step_id",
         set_at("/in_progress_step/step_id", "policy-lookup-2")),
    Case("HC-33", set_at("/completed_steps/0/output_reference", None), "/completed_steps/0/output_reference",
         UNCHANGED, severity="low"),
    Case("HC-33", without("/completed_steps/1/completed_at"), "/completed_steps/1/completed_at", UNCHANGED,
         severity="low", label="time"),
    Case("HC-34", set_at("/in_progress_step/started_at", None), "/in_progress_step/started_at", UNCHANGED,
         severity="low"),
    Case("HC-34", set_at("/in_progress_step", {"step_id": None, "partial_output": "half a table"}),
         "/in_progress_step/step_id", all_of(set_at("/in_progress_step", {}), set_at("/task_status", "blocked")),
         severity="low", label="no-id"),
    Case("HC-35", set_at("/pending_decisions/-", base()["pending_decisions"][0]), "/pending_decisions/1/decision_id",
         set_at("/pending_decisions/-", base()["pending_decisions"][0] | {"decision_id": "excess-2"})),
    Case("HC-36", set_at("/pending_decisions/0/recommendation", "escalate"), "/pending_decisions/0/recommendation",
         set_at("/pending_decisions/0/recommendation", "I would HALVE it"), severity="low"),
    Case("HC-37", set_at("/pending_decisions/0/options", ["keep", "Keep "]), "/pending_decisions/0/options",
         set_at("/pending_decisions/0/options", ["keep", "waive"]), severity="medium"),
    Case("HC-37", without("/pending_decisions/0/options"), "/pending_decisions/0/options", UNCHANGED,
         severity="medium", label="none"),
    Case("HC-38", set_at("/pending_decisions/0/question", " "), "/pending_decisions/0/question",
         set_at("/pending_decisions/0/question", "?"), severity="medium"),
    Case("HC-38", set_at("/pending_decisions/0/decision_id", ""), "/pending_decisions/0/decision_id", UNCHANGED,
         severity="medium", label="id"),
    Case("HC-39", set_at("/completed_steps/1/completed_at", "2026-03-02T09:00:00.001Z"),
         "/completed_steps/1/completed_at", set_at("/completed_steps/1/completed_at", "2026-03-02T09:00:00Z"),
         severity="medium"),
    Case("HC-40", set_at("/in_progress_step/started_at", "2026-03-02T09:01:00Z"), "/in_progress_step/started_at",
         set_at("/in_progress_step/started_at", "2026-03-02T09:00:00Z"), severity="medium"),
    Case("HC-41", set_at("/completed_steps/1/completed_at", "2026-03-02T08:39:59Z"), "/completed_steps/1/completed_at",
         set_at("/completed_steps/1/completed_at", "2026-03-02T08:40:00Z"), severity="low"),
    Case("HC-42", set_at("/timestamp", "2026-03-02T09:05:31Z"), "/timestamp",
         set_at("/timestamp", "2026-03-02T09:05:30Z"), severity="medium"),
    Case("HC-43", set_at("/timestamp", "2026-03-02T08:45:29Z"), "/timestamp",
         set_at("/timestamp", "2026-03-02T08:45:30Z"), severity="low"),
    Case("HC-54", UNCHANGED, "/active_constraints", UNCHANGED,
         policy={"required_constraints": {"from": {"intake": ["two_eyes"]}}},
         near_policy={"required_constraints": {"from": {"intake": ["pii_masking"], "other": ["two_eyes"]}}}),
    Case("HC-54", UNCHANGED, "/active_constraints", UNCHANGED, label="to",
         policy={"required_constraints": {"to": {"assessor": ["two_eyes"]}}},
         near_policy={"required_constraints": {"to": {"assessor": ["no_payout_above_2000"]}}}),
    Case("HC-55", set_at("/active_constraints/-", "payout_any"), "/active_constraints/2", UNCHANGED,
         severity="medium", policy={"conflicting_constraints": [["no_payout_above_2000", "payout_any"]]}),
    Case("HC-55", set_at("/active_constraints/-", "pii_masking "), "/active_constraints/2",
         set_at("/active_constraints/-", "pii_masking_strict"), severity="medium", label="twice"),
    Case("HC-55", set_at("/active_constraints/0", ""), "/active_constraints/0", UNCHANGED, severity="medium",
         label="blank"),
    Case("HC-56", set_at("/tool_outputs/-", base()["tool_outputs"][0]), "/tool_outputs/1/call_id",
         set_at("/tool_outputs/-", base()["tool_outputs"][0] | {"call_id": "call-92"})),
    Case("HC-57", set_at("/tool_outputs/0/full_result_reference", '{"policy": "HH-5520", "excess": 150}'),
         "/tool_outputs/0/full_result_reference",
         set_at("/tool_outputs/0/full_result_reference", "s3://claims/{207}/x y.json")),
    Case("HC-57", set_at("/completed_steps/0/output_reference", "data:text/plain;base64,aGVsbG8="),
         "/completed_steps/0/output_reference", UNCHANGED, label="data"),
    Case("HC-57", set_at("/completed_steps/0/output_reference", "Photo 1: wet floor\nPhoto 2: wet wall"),
         "/completed_steps/0/output_reference", UNCHANGED, label="lines"),
    Case("HC-58", set_at("/tool_outputs/0/full_result_reference", "file:///etc/hosts"),
         "/tool_outputs/0/full_result_reference",
         set_at("/tool_outputs/0/full_result_reference", "HTTPS://files.example/207"), severity="medium"),
    Case("HC-58", set_at("/tool_outputs/0/full_result_reference", " java\tscript:alert(1)"),
         "/tool_outputs/0/full_result_reference", UNCHANGED, severity="medium", label="script"),
    Case("HC-59", set_at("/tool_outputs/0/result_summary", DUMP), "/tool_outputs/0/result_summary",
         set_at("/tool_outputs/0/result_summary", "Three rows:\n" + DUMP[:200]), severity="medium"),
    Case("HC-59", set_at("/in_progress_step/partial_output", json.dumps([{"row": n} for n in range(40)])),
         "/in_progress_step/partial_output", set_at("/in_progress_step/partial_output", "[1, 2]"), severity="medium",
         label="json"),
    Case("HC-60", set_at("/tool_outputs/0/call_id", ""), "/tool_outputs/0/call_id",
         without("/tool_outputs/0/result_summary"), severity="medium"),
    Case("HC-61", set_at("/agent_role", "wizard"), "/agent_role", UNCHANGED, policy={"roles": ROLES}),
    Case("HC-62", set_at("/handoff_target/target_role", "wizard"), "/handoff_target/target_role",
         set_at("/handoff_target/target_role", "wizard"), policy={"roles": ROLES}, near_policy={}),
    Case("HC-62", UNCHANGED, "/handoff_target/target_role", UNCHANGED, label="not-allowed",
         policy={"roles": ROLES | {"intake": {"may_hand_off_to": ["payments"]}}},
         near_policy={"roles": ROLES | {"intake": {"may_hand_off_to": ["payments", "assessor"]}}}),
    Case("HC-63", set_at("/handoff_target/target_role", "Intake"), "/handoff_target/target_role", UNCHANGED,
         severity="medium"),
    Case("HC-64", set_at("/handoff_target/handoff_reason", ""), "/handoff_target/handoff_reason", UNCHANGED,
         severity="medium"),
    Case("HC-64", without("/handoff_target/handoff_reason"), "/handoff_target/handoff_reason",
         all_of(without("/handoff_target/handoff_reason"), set_at("/handoff_reason", "It must")), severity="medium",
         label="absent"),
    Case("HC-65", set_at("/agent_instance_id", "intake/3"), "/agent_instance_id",
         set_at("/agent_instance_id", "intake/2")),
    Case("HC-66", set_at("/recovery_instructions/idempotency_key", ""), "/recovery_instructions/idempotency_key",
         UNCHANGED, severity="medium"),
    Case("HC-66", without("/recovery_instructions"), "/recovery_instructions/idempotency_key",
         all_of(without("/recovery_instructions"), set_at("/idempotency_key", "k1")), severity="medium",
         label="absent"),
    Case("HC-68", set_at("/recovery_instructions/max_retries", 6), "/recovery_instructions/max_retries",
         set_at("/recovery_instructions/max_retries", 5), severity="medium"),
    Case("HC-68", set_at("/recovery_instructions/max_retries", -1), "/recovery_instructions/max_retries",
         set_at("/recovery_instructions/max_retries", 0), severity="medium", label="negative"),
    Case("HC-68", set_at("/recovery_instructions/max_retries", 2.5), "/recovery_instructions/max_retries",
         without("/recovery_instructions/max_retries"), severity="medium", label="fraction"),
    Case("HC-69", set_at("/attempt", 4), "/attempt", set_at("/attempt", 3)),
    Case("HC-69", enveloped(attempt=7), "/attempt", enveloped(attempt=2), label="envelope"),
    Case("HC-70", set_at("/recovery_instructions/rollback_notes", ""), "/recovery_instructions/rollback_notes",
         all_of(set_at("/recovery_instructions/rollback_notes", ""), set_at("/tool_outputs", [])), severity="medium"),
    Case("HC-71", set_at("/context_snapshot/key_facts", CITED), "/context_snapshot",
         set_at("/context_snapshot/key_facts", CITED[:60]), severity="medium"),
    Case("HC-72", set_at("/context_snapshot/user_intent", ""), "/context_snapshot/user_intent", UNCHANGED,
         severity="medium"),
    Case("HC-73", set_at("/context_snapshot/session_highlights", ["User: it leaks", "Assistant: since when?",
                                                                 "User: Sunday", "Assistant: noted"]),
         "/context_snapshot/session_highlights",
         set_at("/context_snapshot/session_highlights", ["User: it leaks", "User: since Sunday", "Cause: a pipe",
                                                        "Assistant: noted"]), severity="medium"),
    Case("HC-74", all_of(set_at("/consistency_issues", []), set_at("/task_status", "completed")), "/consistency_issues",
         set_at("/consistency_issues", []), severity="medium"),
    Case("HC-75", set_at("/task_id", "repair it"), "/task_id", UNCHANGED, severity="medium",
         policy={"task_id_pattern": r"^CLM-\d+$"}),
    Case("HC-76", enveloped(target_role="payments"), "/handoff_target/target_role",
         enveloped(target_role="assessor", produced_at="2026-03-02T09:00:00.000Z", human_approval_required=False)),
    Case("HC-76", all_of(set_at("/risk_level", "low"), enveloped(risk_level="high")), "/risk_level",
         all_of(set_at("/risk_level", "medium"), enveloped(risk_level="normal")), label="risk"),
    Case("HC-77", all_of(set_at("/approval_ticket_reference", "APR-2026-999999"),
                         set_at("/human_approval_required", True)), "/approval_ticket_reference",
         all_of(set_at("/approval_ticket_reference", "CHG-2026"), set_at("/human_approval_required", True)),
         known={"known_ticket": False}),
    Case("HC-81", set_at("/in_progress_step/capability", "pay_out"), "/in_progress_step/capability",
         set_at("/in_progress_step/capability", "estimate_repair"), severity="medium", policy={"roles": ROLES}),
    Case("HC-84", set_at("/handoff_target/handoff_reason", "Pay \u202e0002\u202c now"),
         "/handoff_target/handoff_reason",
         set_at("/handoff_target/handoff_reason", "Öl, 20 °C, 👩‍💻 und שלום, ❤️, naïve, Москва"), severity="medium"),
    Case("HC-84", set_at("/agent_role", "int\u0430ke"), "/agent_role", set_at("/agent_role", "intäke"), label="role"),
    Case("HC-84", set_at("/tool_outputs/0/tool_name", "find_policy\u200b"), "/tool_outputs/0/tool_name", UNCHANGED,
         label="tool"),
    Case("HC-84", set_at("/completed_steps/0/step_id", "с\u043e\u0440\u0443"), "/completed_steps/0/step_id",
         set_at("/completed_steps/0/description", "с\u043e\u0440\u0443"), label="step"),
    Case("REP", set_at("/reported_issues", [{"severity": "grave", "pointer": "/task_id", "message": "I am not sure"}]),
         "/task_id", UNCHANGED),
    Case("REP", set_at("/consistency_issues", [{"code": "X1", "severity": "low", "message": "odd"}]),
         "/consistency_issues/0", set_at("/consistency_issues", []), severity="low", label="alias"),
    Case("SYS-03", all_of(set_at("/format", "opaque")), "", UNCHANGED),
)  # fmt: skip

COMPARED = (
    Case("HC-17", all_of(set_at("/completed_steps/-", STEP),
                         set_at("/consistency_hash", sealed(base())["consistency_hash"])), "/consistency_hash",
         set_at("/completed_steps/-", STEP), before=UNCHANGED),
    Case("HC-44", set_at("/timestamp", "2026-03-02T08:49:59Z"), "/timestamp",
         set_at("/timestamp", "2026-03-02T08:50:00Z"), before=EARLIER),
    Case("HC-45", UNCHANGED, "/handoff_sequence", UNCHANGED, known={"highest_judged_sequence": 5},
         near_known={"highest_judged_sequence": 3}),
    Case("HC-46", UNCHANGED, "/handoff_sequence", UNCHANGED, severity="medium", known={"missing_sequences": (2, 3)},
         near_known={"missing_sequences": ()}),
    Case("HC-47", without("/completed_steps/0"), "/completed_steps", set_at("/completed_steps/-", STEP),
         before=EARLIER),
    Case("HC-48", set_at("/completed_steps/0/output_reference", "artifact://claims/207/other.json"),
         "/completed_steps/0/output_reference",
         all_of(set_at("/completed_steps/0/completed_at", "2026-03-02T08:40:00.000Z"),
                set_at("/completed_steps/0/cost", 3)), before=EARLIER),
    Case("HC-49", all_of(without("/completed_steps/0"), set_at("/in_progress_step/step_id", "collect")),
         "/in_progress_step/step_id", set_at("/in_progress_step/step_id", "collect-again"), before=EARLIER),
    Case("HC-50", UNCHANGED, "/task_status", COMPLETED, before=all_of(EARLIER, COMPLETED)),
    Case("HC-51", set_at("/pending_decisions", []), "/pending_decisions",
         all_of(set_at("/pending_decisions", []),
                set_at("/completed_steps/-", STEP | {"description": "Resolved (excess): keep"})),
         before=all_of(EARLIER, BLOCKING)),
    Case("HC-51", set_at("/pending_decisions", []), "/pending_decisions", set_at("/pending_decisions", []),
         label="answered", before=all_of(EARLIER, BLOCKING), near_known={"answers": {"excess": ANSWER}}),
    Case("HC-52", set_at("/active_constraints", ["pii_masking"]), "/active_constraints",
         set_at("/active_constraints", ["pii_masking", "two_eyes", " no_payout_above_2000"]), before=EARLIER),
    Case("HC-53", set_at("/context_snapshot/user_intent", "Delete my account"), "/context_snapshot/user_intent",
         set_at("/context_snapshot/user_intent", "get the  kitchen floor repaired"), severity="medium", before=EARLIER),
    Case("HC-53", set_at("/context_snapshot/user_intent", "Get the kitchen floor replaced"),
         "/context_snapshot/user_intent", UNCHANGED, severity="low", label="rephrased", before=EARLIER),
    Case("HC-67", UNCHANGED, "/recovery_instructions/idempotency_key", UNCHANGED,
         known={"idempotency_key_used_by": "0195a6f2-4c1e-7b3a-9d55-2f0c8e1b7a60"}, near_known={}),
    Case("HC-78", UNCHANGED, "/handoff_target/target_role", UNCHANGED, known={"equal_posts": 2},
         near_known={"equal_posts": 1}),
    Case("HC-80", UNCHANGED, "/agent_role", UNCHANGED, severity="medium",
         known={"role_alternations": 4}, near_known={"role_alternations": 3}),
    Case("HC-82", UNCHANGED, "/tool_outputs/0/call_id", UNCHANGED, severity="low",
         known={"foreign_call_ids": {"call-91": "claims-2026-0300"}},
         near_known={"foreign_call_ids": {"call-90": "claims-2026-0300"}}),
    Case("HC-83", set_at("/pending_decisions/0/options", ["waive", "keep"]), "/pending_decisions/0/options", UNCHANGED,
         known={"answers": {"excess": ANSWER}}),
)  # fmt: skip

CASES = SINGLE + COMPARED
