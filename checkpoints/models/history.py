"""What was said once in a session and is looked up by name later: indexes over decisions and documents.

Both tables are written once, in the transaction of what they index. Names are cut as those of a handoff are.
"""

from __future__ import annotations

from django.db import models

from checkpoints.models.exact_json import ExactJSONField
from checkpoints.models.handoff import Handoff, Session
from checkpoints.models.orchestrator import Orchestrator


class GivenAnswer(models.Model):
    """An answer that a person gave to a pending decision, found by session and decision."""

    id = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, on_delete=models.PROTECT, db_index=False, related_name="answers")
    decision_id = models.TextField()
    handoff = models.ForeignKey(Handoff, on_delete=models.PROTECT, db_index=False, related_name="+")
    handoff_sequence = models.BigIntegerField()
    round = models.PositiveIntegerField()  # of the approval that carries it: a later round asks anew
    question = models.TextField()
    options = ExactJSONField()
    answer = models.TextField()
    at = models.DateTimeField()

    class Meta:
        db_table = "given_answer"
        indexes = [models.Index(fields=["session", "decision_id", "-at"], name="given_answer_by_decision")]


class ToolCall(models.Model):
    """A tool call and the digest of its result, once per session that showed it (HC-82)."""

    id = models.BigAutoField(primary_key=True)
    orchestrator = models.ForeignKey(Orchestrator, on_delete=models.PROTECT, db_index=False, related_name="+")
    call_id = models.TextField()
    result = models.CharField(max_length=71)
    session = models.ForeignKey(Session, on_delete=models.PROTECT, db_index=False, related_name="+")
    at = models.DateTimeField()

    class Meta:
        db_table = "tool_call"
        constraints = [
            # The order of the look-up: results of one call side by side, so that equal ones are stepped over.
            models.UniqueConstraint(
                fields=["orchestrator", "call_id", "result", "session"], name="tool_call_once_per_session"
            ),
        ]
