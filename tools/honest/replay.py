"""Posting the stories through the real services, with people and receivers who do their part."""

from __future__ import annotations

import secrets
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from checkpoints.formats import admit as read
from checkpoints.models import CheckRun, Handoff, Orchestrator
from checkpoints.services import admission, attempts, dispatch, tokens
from checkpoints.services.verification import drain
from checkpoints.types import Actor
from reviewqueue.models import User
from reviewqueue.services.deciding import DecisionForm, decide
from tools.honest.frameworks import FRAMEWORKS
from tools.honest.stories import STORIES, Post

HANDOFFS_A_ROUND = 4 * len(STORIES | FRAMEWORKS)
CONSISTENCY = "findings"  # the reason of a handoff that stopped for what a check found


@dataclass
class Week:
    """What happened: handoffs, those stopped for their findings, findings by code and per document."""

    handoffs: int = 0
    stopped: list[tuple[str, list[str]]] = field(default_factory=list)  # (story, codes)
    codes: Counter[str] = field(default_factory=Counter)
    per_document: list[int] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        ordered = sorted(self.per_document)
        return {
            "handoffs": self.handoffs,
            "stopped_for_consistency": len(self.stopped),
            "findings_median": statistics.median(ordered),
            "findings_p95": ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
            "codes": dict(self.codes.most_common()),
        }


def replay(*, rounds: int, reviewer: User, tell: Callable[[str], None] = lambda _: None) -> Week:
    """`rounds` sessions of each orchestrator: HANDOFFS_A_ROUND a round, four in each session."""
    week, salt = Week(), secrets.token_hex(4)
    for name, story in (STORIES | FRAMEWORKS).items():
        _, token = tokens.create_token(
            orchestrator_name=f"honest-{name}-{salt}",
            scopes=(),
            actor=Actor("system", "system:replay", "Replay"),
        )
        for number in range(rounds):
            for post in story(number, salt):
                _one(week, name, token.orchestrator, post, reviewer)
        tell(name)
    return week


def _one(week: Week, story: str, owner: Orchestrator, post: Post, reviewer: User) -> None:
    sender = Actor("orchestrator", owner.name, owner.name)
    admitted = admission.admit(orchestrator=owner, body=post.body, submission=read(post.body), actor=sender)
    drain()
    handoff = Handoff.objects.with_names().get(pk=admitted.handoff_id)
    findings = CheckRun.objects.get(handoff=handoff).findings
    week.handoffs += 1
    week.per_document.append(len(findings))
    week.codes.update(item["code"] for item in findings)
    if CONSISTENCY in handoff.reasons or handoff.state == "rejected":
        week.stopped.append((story, handoff.finding_codes))
        return
    _go_on(handoff, owner, sender, post, reviewer)


def _go_on(handoff: Handoff, owner: Orchestrator, sender: Actor, post: Post, reviewer: User) -> None:
    if post.then == "answered":
        asked = read(post.body).facts.pending_decisions
        answers = {item.decision_id: item.options[0] for item in asked}
        decide(handoff_id=handoff.pk, reviewer=reviewer, form=_form(handoff, "approve", answers=answers))
    if post.then == "aborted":
        _escalate(handoff, owner, sender)
        again = Handoff.objects.get(pk=handoff.pk)
        decide(handoff_id=handoff.pk, reviewer=reviewer, form=_form(again, "abort", advice="restart"))
        return
    named: dict[str, Any] = {"orchestrator": owner, "checkpoint_id": handoff.checkpoint_id, "actor": sender}
    answer = dispatch.dispatch(**named, key=None)
    if post.then == "failed":
        attempts.fail(
            **named, attempt=int(str(answer["attempt"])), kind="error", detail="The receiver was restarting"
        )
        return
    attempts.acknowledge(**named, attempt=int(str(answer["attempt"])), content_digest=None, receiver=None)


def _escalate(handoff: Handoff, owner: Orchestrator, sender: Actor) -> None:
    """The receiver refuses: a person looks at it."""
    named: dict[str, Any] = {"orchestrator": owner, "checkpoint_id": handoff.checkpoint_id, "actor": sender}
    answer = dispatch.dispatch(**named, key=None)
    attempts.refuse(**named, attempt=int(str(answer["attempt"])), reason="The stock is being counted today")


def _form(handoff: Handoff, action: str, **more: Any) -> DecisionForm:
    return DecisionForm(
        action=action,
        content_digest=handoff.content_digest,
        version=handoff.version,
        reason="As agreed with the team",
        **more,
    )
