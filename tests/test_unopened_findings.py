"""High findings are opened before an approval, or the approver says that they were not; the trail keeps it."""

from __future__ import annotations

from typing import Any

import pytest

from checkpoints.errors import InvalidInput
from checkpoints.models import AuditEntry, Decision, Handoff
from reviewqueue.services.deciding import decide
from reviewqueue.services.viewing import record_opened, unopened_high_findings
from tests import characters
from tests.characters import form, person
from tests.visiting import signed_in


@pytest.fixture
def item(db: None) -> Handoff:
    """An item with a high finding."""
    value = characters.document()
    handoff = characters.judged(characters.orchestrator(), value | {"consistency_hash": "sha256:" + "0" * 64})
    assert handoff.state == "flagged"
    return handoff


def unopened_of(handoff: Handoff) -> Any:
    entry = AuditEntry.objects.get(subject_id=str(handoff.pk), action="handoff.approved")
    return entry.text.after.get("unopened_findings")


def open_all(handoff: Handoff, user: Any) -> None:
    for left in unopened_high_findings(handoff=handoff, user=user):
        record_opened(
            handoff_id=handoff.pk, revision=handoff.revision, viewer=user, number=left.number, code=left.code
        )


def test_a_form_that_lists_unopened_findings_needs_the_approvers_word(item: Handoff) -> None:
    user = person()
    [left] = unopened_high_findings(handoff=item, user=user)
    with pytest.raises(InvalidInput) as refused:
        decide(handoff_id=item.pk, reviewer=user, form=form(item, reason="Known", asks_opened=True))
    assert refused.value.slug == "findings-unopened"
    assert left.title in refused.value.detail
    assert characters.reload(item).version == item.version
    assert not Decision.objects.filter(handoff=item).exists()
    decide(
        handoff_id=item.pk,
        reviewer=user,
        form=form(item, reason="Known", asks_opened=True, unopened_accepted=True),
    )
    assert unopened_of(item) == [left.code]


def test_opened_findings_need_no_word(item: Handoff) -> None:
    user = person()
    open_all(item, user)
    decide(handoff_id=item.pk, reviewer=user, form=form(item, reason="Known", asks_opened=True))
    assert unopened_of(item) is None


def test_what_a_colleague_opened_counts_for_the_colleague_alone(item: Handoff) -> None:
    open_all(item, person())
    assert unopened_high_findings(handoff=item, user=person())


def test_the_literal_fields_of_the_contract_are_enough_for_a_program(item: Handoff) -> None:
    decide(handoff_id=item.pk, reviewer=person(), form=form(item, reason="Known"))
    assert unopened_of(item)


def test_an_abort_asks_for_nothing(item: Handoff) -> None:
    decide(handoff_id=item.pk, reviewer=person(), form=form(item, "abort", reason="No", asks_opened=True))
    assert characters.reload(item).state == "aborted"


def test_the_page_lists_them_and_refuses_beside_the_box(item: Handoff) -> None:
    client = signed_in(person())
    page = client.get(f"/handoffs/{item.pk}/")
    assert 'name="asks_opened"' in page.content.decode()
    answer = client.post(
        f"/handoffs/{item.pk}/decide/",
        {
            "action": "approve",
            "reason": "Known",
            "content_digest": item.content_digest,
            "version": item.version,
            "asks_opened": "1",
        },
    )
    assert answer.status_code == 422
    assert 'id="unopened-error"' in answer.content.decode()
    assert "Known" in answer.content.decode()
    assert characters.reload(item).state == "flagged"
