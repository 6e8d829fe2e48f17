"""Bringing the demo to life through the services that everything else uses: nothing is written past them."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from checkpoints.canonical import digest_bytes
from checkpoints.checks import tokens
from checkpoints.errors import Conflict, Refused
from checkpoints.formats import admit as read
from checkpoints.models import Handoff, Orchestrator, Refusal
from checkpoints.services import admission, attempts, dispatch
from checkpoints.services.clock import now
from checkpoints.services.policy import active, publish
from checkpoints.services.received_rows import Arrival
from checkpoints.services.submission import submit
from checkpoints.services.verification import drain
from checkpoints.types import COMMAND_LINE, Actor, Limits, State
from reviewqueue.demo.incidents import Incident, demo_policy, incidents, refused_bodies
from reviewqueue.models import User
from reviewqueue.services import claiming, deciding, editing

ORCHESTRATOR = "demo"
SENDER = Actor(kind="orchestrator", id=ORCHESTRATOR, label=ORCHESTRATOR)
VERDICT_SECONDS = 60.0


class NotJudged(Exception):
    """The verdict of a demo document did not come in time; the text names the documents."""


def publish_policy() -> bool:
    """Make the demo policy the first version. False where any policy was published before: it is kept."""
    if active(fresh=True).version:
        return False
    publish(document=demo_policy(), actor=COMMAND_LINE, note="The policy of the demo")
    return True


def stage(people: dict[str, User]) -> list[Handoff]:
    """Post, judge and play the incidents that are not stored yet. Returns their handoffs, in posting order.

    Documents of one wave are posted together; what happens to them happens before the next wave is posted,
    because later documents of a session answer to it.
    """
    owner, _ = Orchestrator.objects.get_or_create(name=ORCHESTRATOR)
    known = set(Handoff.objects.of(owner).values_list("checkpoint_id", flat=True))
    missing = [incident for incident in incidents() if incident.checkpoint_id not in known]
    _send_refused(owner)
    at, staged = now(), []
    for _, wave in groupby(missing, key=lambda incident: incident.wave):
        posted = _post(owner, list(wave), at)
        _wait_for_verdicts([handoff for _, handoff in posted])
        for incident, handoff in posted:
            staged.append(_play(incident, Scene(owner, handoff, people)))
    return staged


def _send_refused(owner: Orchestrator) -> None:
    """What cannot be stored, once each: its bytes are kept in quarantine."""
    kept = set(Refusal.objects.filter(orchestrator=owner).values_list("body_digest", flat=True))
    for body in refused_bodies():
        if digest_bytes(body) not in kept:
            with contextlib.suppress(Refused):
                submit(orchestrator=owner, body=body, limits=Limits(), actor=SENDER)


def _post(owner: Orchestrator, wave: list[Incident], at: datetime) -> list[tuple[Incident, Handoff]]:
    """Store a wave in one commit, as a batch is."""
    bodies = [incident.body(at) for incident in wave]
    ids = []
    for result in admission.admit_together([Arrival(owner, body, read(body), SENDER) for body in bodies]):
        if isinstance(result, Conflict):
            raise result
        ids.append(result.handoff_id)
    rows = Handoff.objects.in_bulk(ids)
    return [(incident, rows[pk]) for incident, pk in zip(wave, ids, strict=True)]


def _wait_for_verdicts(handoffs: list[Handoff]) -> None:
    """Judge here what no worker has claimed, and wait for what one has."""
    stop = time.monotonic() + VERDICT_SECONDS
    ids = [handoff.pk for handoff in handoffs]
    while True:
        drain(count_tokens=tokens.load())
        waiting = Handoff.objects.filter(pk__in=ids, state=State.RECEIVED)
        if not waiting.exists():
            return
        if time.monotonic() > stop:
            names = ", ".join(waiting.values_list("checkpoint_id", flat=True))
            raise NotJudged(f"No verdict after {VERDICT_SECONDS:.0f} s for {names}. See the worker's log.")
        time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Scene:
    """One handoff and everybody who acts on it."""

    owner: Orchestrator
    handoff: Handoff
    people: dict[str, User]

    def fresh(self) -> Handoff:
        return Handoff.objects.with_names().get(pk=self.handoff.pk)


def _play(incident: Incident, scene: Scene) -> Handoff:
    for step in incident.then:
        details = dict(step)
        _ACTS[details.pop("act")](scene, details)
    return scene.fresh()


def _dispatch(scene: Scene, details: dict[str, Any]) -> None:
    dispatch.dispatch(
        orchestrator=scene.owner, checkpoint_id=scene.handoff.checkpoint_id, key=None, actor=SENDER
    )


def _ack(scene: Scene, details: dict[str, Any]) -> None:
    handoff = scene.fresh()
    attempts.acknowledge(
        orchestrator=scene.owner,
        checkpoint_id=handoff.checkpoint_id,
        attempt=handoff.last_attempt,
        content_digest=handoff.content_digest,
        receiver=details["receiver"],
        actor=SENDER,
    )


def _fail(scene: Scene, details: dict[str, Any]) -> None:
    handoff = scene.fresh()
    attempts.fail(
        orchestrator=scene.owner,
        checkpoint_id=handoff.checkpoint_id,
        attempt=handoff.last_attempt,
        kind=details["kind"],
        detail=details["detail"],
        actor=SENDER,
    )


def _cancel(scene: Scene, details: dict[str, Any]) -> None:
    attempts.cancel(
        orchestrator=scene.owner,
        checkpoint_id=scene.handoff.checkpoint_id,
        reason=details["reason"],
        actor=SENDER,
    )


def _claim(scene: Scene, details: dict[str, Any]) -> None:
    claiming.claim(handoff_id=scene.handoff.pk, reviewer=scene.people[details["by"]])


def _edit(scene: Scene, details: dict[str, Any]) -> None:
    handoff = scene.fresh()
    document = json.loads(editing.editable_text(handoff=handoff))
    for pointer, value in details["set"].items():
        *parents, last = pointer.split("/")[1:]
        place = document
        for name in parents:
            place = place[name]
        place[last] = value
    editing.edit(
        handoff_id=handoff.pk,
        reviewer=scene.people[details["by"]],
        document=json.dumps(document),
        reason=details["reason"],
        content_digest=handoff.content_digest,
        version=handoff.version,
    )


def _decide(action: str) -> Callable[[Scene, dict[str, Any]], None]:
    def act(scene: Scene, details: dict[str, Any]) -> None:
        handoff = scene.fresh()
        reviewer = scene.people[details.pop("by")]
        form = deciding.DecisionForm(
            action=action, content_digest=handoff.content_digest, version=handoff.version, **details
        )
        deciding.decide(handoff_id=handoff.pk, reviewer=reviewer, form=form)

    return act


_ACTS: dict[str, Callable[[Scene, dict[str, Any]], None]] = {
    "dispatch": _dispatch,
    "ack": _ack,
    "fail": _fail,
    "cancel": _cancel,
    "claim": _claim,
    "edit": _edit,
    **{action: _decide(action) for action in ("approve", "abort", "send_back", "escalate")},
}
