"""One noun a module."""

from checkpoints.models.audit import AuditEntry, AuditText
from checkpoints.models.audit_tree import AuditLeaf, AuditTile, TreeHead
from checkpoints.models.check_run import CheckRun
from checkpoints.models.checkpoint import Checkpoint, CheckpointBody, Refusal, RefusalBody
from checkpoints.models.decision import Action, Decision
from checkpoints.models.handoff import AWAITING_PERSON, CHANNEL, TERMINAL, Attempt, Handoff, Session
from checkpoints.models.heartbeat import WorkerHeartbeat
from checkpoints.models.history import GivenAnswer, ToolCall
from checkpoints.models.orchestrator import ApiToken, Orchestrator, Scope
from checkpoints.models.policy import PolicyVersion
from checkpoints.models.ticket import Ticket

__all__ = [
    "AWAITING_PERSON",
    "CHANNEL",
    "TERMINAL",
    "Action",
    "ApiToken",
    "Attempt",
    "AuditEntry",
    "AuditLeaf",
    "AuditText",
    "AuditTile",
    "CheckRun",
    "Checkpoint",
    "CheckpointBody",
    "Decision",
    "GivenAnswer",
    "Handoff",
    "Orchestrator",
    "PolicyVersion",
    "Refusal",
    "RefusalBody",
    "Scope",
    "Session",
    "Ticket",
    "ToolCall",
    "TreeHead",
    "WorkerHeartbeat",
]
