"""Each act leaves one entry, chained to the last of its subject, and the digest covers what it says."""

from __future__ import annotations

import hashlib
import json

import pytest
import rfc8785
from django.db import transaction

from checkpoints.formats import admit as read
from checkpoints.models import AuditEntry, AuditText, Handoff
from checkpoints.services import audit
from checkpoints.services.admission import admit
from checkpoints.services.clock import now
from checkpoints.types import Actor, rfc3339
from reviewqueue.services.deciding import decide
from tests import characters


def entries(handoff: Handoff) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(subject_id=str(handoff.pk)).order_by("subject_index"))


def test_the_digest_can_be_computed_from_the_contract_alone(db: None) -> None:
    handoff = characters.approved(characters.orchestrator())
    for entry in entries(handoff):
        text = AuditText.objects.get(entry=entry)
        canonical = rfc8785.dumps(
            {"after": text.after, "before": text.before, "label": text.label, "reason": text.reason}
        )
        assert entry.text_commitment == "sha256:" + hashlib.sha256(bytes(text.salt) + canonical).hexdigest()
        members = {
            "id": str(entry.pk), "at": rfc3339(entry.at), "action": entry.action,
            "actor": {"kind": entry.actor_kind, "id": entry.actor_id},
            "subject": {"kind": entry.subject_kind, "id": entry.subject_id},
            "request_id": entry.request_id, "trace_id": entry.trace_id, "policy_version": entry.policy_version,
            "previous_digest": entry.previous_digest, "text_commitment": entry.text_commitment,
        }  # fmt: skip
        assert entry.digest == "sha256:" + hashlib.sha256(rfc8785.dumps(members)).hexdigest()


def test_the_chain_of_a_handoff_has_no_gap(db: None) -> None:
    found = entries(characters.approved(characters.orchestrator()))
    assert [entry.subject_index for entry in found] == list(range(len(found)))
    assert found[0].previous_digest is None
    assert [entry.previous_digest for entry in found[1:]] == [entry.digest for entry in found[:-1]]


def test_time_never_runs_backwards_in_a_chain(db: None) -> None:
    subject = ("orchestrator", characters.fresh("subject"))
    actor = Actor("system", "system:test", "Test")
    with transaction.atomic():
        before_the_lock, after_it = now(), now()
        audit.record(audit.Entry("token.created", actor, subject, after_it))
        audit.record(audit.Entry("token.revoked", actor, subject, before_the_lock))
    first, second = AuditEntry.objects.filter(subject_id=subject[1]).order_by("subject_index")
    assert (first.action, second.action) == ("token.created", "token.revoked")
    assert before_the_lock < first.at < second.at <= now()


def test_entries_of_one_subject_never_fork(db: None) -> None:
    subject = ("orchestrator", characters.fresh("subject"))
    actor = Actor("system", "system:test", "Test")

    def write() -> None:
        for _ in range(10):
            with transaction.atomic():
                audit.record(audit.Entry("token.created", actor, subject, now()))

    assert characters.together(write, write, write) == [None, None, None]
    found = AuditEntry.objects.filter(subject_kind=subject[0], subject_id=subject[1]).order_by(
        "subject_index"
    )
    assert [entry.subject_index for entry in found] == list(range(30))
    digests = [entry.digest for entry in found]
    assert [entry.previous_digest for entry in found] == [None, *digests[:-1]]


def test_without_its_entry_nothing_happens(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    handoff = characters.flagged(characters.orchestrator())
    monkeypatch.setattr(audit, "record_many", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        decide(handoff_id=handoff.pk, reviewer=characters.person(), form=characters.form(handoff, "abort"))
    assert characters.reload(handoff).version == handoff.version


def test_a_request_is_named_in_its_entries(db: None) -> None:
    owner = characters.orchestrator()
    body = json.dumps(characters.document()).encode()
    actor = Actor("orchestrator", owner.name, owner.name, request_id="req-7", trace_id="ab" * 16)
    admitted = admit(orchestrator=owner, body=body, submission=read(body), actor=actor)
    entry = AuditEntry.objects.get(subject_id=str(admitted.handoff_id))
    assert (entry.request_id, entry.trace_id) == ("req-7", "ab" * 16)


def test_a_repeated_post_leaves_no_second_entry(db: None) -> None:
    owner, document = characters.orchestrator(), characters.document()
    handoff = characters.post(owner, document)
    assert characters.post(owner, document).pk == handoff.pk
    assert [entry.action for entry in entries(handoff)] == ["handoff.received"]
