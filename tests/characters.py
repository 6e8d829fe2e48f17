"""The standing characters of the tests: one orchestrator a test, people of each role, documents of our own."""

from __future__ import annotations

import copy
import json
import secrets
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connections

from checkpoints.canonical import context_fingerprint
from checkpoints.formats import admit as read
from checkpoints.formats import covered_object, hash_of
from checkpoints.identifiers import uuid7
from checkpoints.models import Handoff, Orchestrator
from checkpoints.services import admission
from checkpoints.services.dispatch import dispatch
from checkpoints.services.verification import drain
from checkpoints.types import Actor
from reviewqueue.models import Role, User
from reviewqueue.services.deciding import DecisionForm, decide


def fresh(prefix: str) -> str:
    """A name nobody else uses."""
    return f"{prefix}-{secrets.token_hex(6)}"


def orchestrator() -> Orchestrator:
    return Orchestrator.objects.create(name=fresh("orchestrator"))


def person(role: Role = Role.OPERATOR, name: str = "alice") -> User:
    return User.objects.create_user(username=fresh(name), password="correct horse battery", role=role)


def minutes_ago(minutes: int) -> str:
    at = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=minutes)
    return at.isoformat().replace("+00:00", "Z")


def document(**changes: Any) -> dict[str, Any]:
    """A flat `handoff/1` document without a finding above low under the empty policy; `changes` replace members."""
    session = changes.get("session_id", fresh("session"))
    base: dict[str, Any] = {
        "checkpoint_id": str(uuid7()),
        "session_id": session,
        "handoff_sequence": 1,
        "agent_id": "triage/7",
        "agent_role": "triage",
        "timestamp": minutes_ago(0),
        "task_id": "T-1001",
        "task_status": "in_progress",
        "completed_steps": [
            {
                "step_id": "read-claim",
                "description": "Read the damage claim",
                "output_reference": "artifact://runs/9/read-claim.json",
                "completed_at": minutes_ago(4),
            }
        ],
        "in_progress_step": {
            "step_id": "price-repair",
            "description": "Price the repair",
            "partial_output": None,
            "started_at": minutes_ago(3),
        },
        "pending_decisions": [],
        "active_constraints": ["pii_masking"],
        "tool_outputs": [],
        "context_snapshot": {
            "key_facts": ["The claim is about a cracked screen"],
            "user_intent": "Repair my phone",
            "session_highlights": ["The customer sent two photos"],
        },
        "handoff_target": {
            "target_role": "billing",
            "handoff_reason": "Billing prices repairs",
            "expected_return": True,
        },
        "recovery_instructions": {
            "idempotency_key": fresh("key"),
            "rollback_notes": "Nothing was done that has to be undone",
            "max_retries": 2,
        },
    }
    base.update(copy.deepcopy(changes))
    return seal(base)


def seal(value: dict[str, Any]) -> dict[str, Any]:
    """The document with both hashes as the server computes them, unless the test gave its own."""
    value = {key: item for key, item in value.items() if item is not ...}
    if "context_fingerprint" not in value and "context_snapshot" in value:
        value["context_fingerprint"] = context_fingerprint(value["context_snapshot"])
    if "consistency_hash" not in value and (covered := covered_object(value, {})) is not None:
        value["consistency_hash"] = hash_of(covered)
    return value


def post(owner: Orchestrator, value: dict[str, Any] | bytes) -> Handoff:
    """Admit a document without HTTP."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    admitted = admission.admit(
        orchestrator=owner,
        body=body,
        submission=read(body),
        actor=Actor(kind="orchestrator", id=owner.name, label=owner.name),
    )
    return Handoff.objects.with_names().get(pk=admitted.handoff_id)


def judged(owner: Orchestrator, value: dict[str, Any] | bytes) -> Handoff:
    """Admit a document and wait for its verdict."""
    handoff = post(owner, value)
    drain()
    return Handoff.objects.with_names().get(pk=handoff.pk)


def reload(handoff: Handoff) -> Handoff:
    """The row as it stands now."""
    return Handoff.objects.with_names().get(pk=handoff.pk)


def flagged(owner: Orchestrator, **changes: Any) -> Handoff:
    """A medium-risk handoff that waits for one person: its sender asked for it."""
    handoff = judged(owner, document(human_approval_required=True, **changes))
    assert handoff.state == "flagged", handoff.finding_codes
    return handoff


def high_risk(owner: Orchestrator, **changes: Any) -> Handoff:
    """A handoff that waits for two people, one of them senior."""
    return flagged(owner, risk_level="high", **changes)


def form(handoff: Handoff, action: str = "approve", **changes: Any) -> DecisionForm:
    """A decision form as a page that shows `handoff` would send it."""
    given: dict[str, Any] = {
        "action": action,
        "content_digest": handoff.content_digest,
        "version": handoff.version,
        "reason": "Checked against the claim",
    }
    return DecisionForm(**{**given, **changes})


def approved(owner: Orchestrator, **changes: Any) -> Handoff:
    handoff = flagged(owner, **changes)
    decide(handoff_id=handoff.pk, reviewer=person(), form=form(handoff))
    return reload(handoff)


def caller(owner: Orchestrator) -> Actor:
    return Actor(kind="orchestrator", id=owner.name, label=owner.name)


def dispatched(owner: Orchestrator, handoff: Handoff, key: str | None = None) -> dict[str, Any]:
    """Ask for an attempt and return the answer."""
    return dispatch(orchestrator=owner, checkpoint_id=handoff.checkpoint_id, key=key, actor=caller(owner))


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Run the calls at the same moment, each on its own connection; an exception is its result."""
    gate = threading.Barrier(len(calls))
    results: list[Any] = [None] * len(calls)

    def run(index: int) -> None:
        gate.wait()
        try:
            results[index] = calls[index]()
        except Exception as error:
            results[index] = error
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
