"""A policy takes two people: an author, and a manager who is somebody else (contract §7, §8)."""

from __future__ import annotations

import pytest

from checkpoints.errors import Conflict, InvalidInput, NotAllowed, NotFound
from checkpoints.identifiers import uuid7
from checkpoints.models import AuditEntry, PolicyVersion
from checkpoints.services import policy
from checkpoints.types import COMMAND_LINE
from reviewqueue.models import PolicyDraft, Role, User
from reviewqueue.services import drafting
from tests.characters import person, together

pytestmark = pytest.mark.usefixtures("own_database")

CHANGED = {"max_retries": 2}


def drafted(author: User | None = None, document: dict | None = None) -> PolicyDraft:
    author = author or person()
    draft = drafting.begin(author=author)
    return drafting.save(
        draft_id=draft.pk, author=author, document=document or CHANGED, note="Fewer", version=draft.version
    )


def live() -> tuple[int, dict]:
    found = policy.active(fresh=True)
    return found.version, found.document


def actions() -> list[str]:
    entries = AuditEntry.objects.filter(subject_kind="policy").order_by("subject_index")
    return [entry.action for entry in entries]


def test_a_draft_begins_as_a_copy_of_the_policy_in_force_and_changes_nothing():
    policy.publish(document={"max_retries": 4}, actor=COMMAND_LINE)
    before = live()
    draft = drafting.begin(author=person())
    assert (draft.based_on, draft.document) == before
    drafting.save(draft_id=draft.pk, author=draft.author, document=CHANGED, note="", version=1)
    assert live() == before


def test_another_manager_puts_it_in_force_and_every_step_is_audited():
    before = len(actions())
    alice, mona = person(), person(Role.MANAGER)
    draft = drafted(alice)
    published = drafting.publish(draft_id=draft.pk, publisher=mona, version=draft.version)
    assert live() == (published.version, CHANGED)
    assert (published.authored_by, published.published_by) == (alice.public_id, mona.public_id)
    assert published.note == "Fewer"
    assert actions()[before:] == ["policy.drafted", "policy.edited", "policy.published"]


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.SENIOR_OPERATOR, Role.ADMIN])
def test_only_a_manager_publishes(role):
    draft, before = drafted(), live()
    with pytest.raises(NotAllowed, match="takes the role manager"):
        drafting.publish(draft_id=draft.pk, publisher=person(role), version=draft.version)
    assert live() == before


def test_nobody_publishes_what_they_wrote():
    mona = person(Role.MANAGER)
    draft, before = drafted(mona), live()
    with pytest.raises(NotAllowed, match="You wrote this draft") as refused:
        drafting.publish(draft_id=draft.pk, publisher=mona, version=draft.version)
    assert (refused.value.status, live()) == (403, before)


def test_a_draft_of_an_older_version_waits_until_its_author_has_looked():
    alice, mona = person(), person(Role.MANAGER)
    draft = drafted(alice)
    policy.publish(document={"max_retries": 3}, actor=COMMAND_LINE)
    before = live()
    with pytest.raises(Conflict, match="came into force after this draft") as refused:
        drafting.publish(draft_id=draft.pk, publisher=mona, version=draft.version)
    assert (refused.value.status, refused.value.slug, live()) == (409, "policy-changed", before)
    draft = drafting.catch_up(draft_id=draft.pk, author=alice, version=draft.version)
    drafting.publish(draft_id=draft.pk, publisher=mona, version=draft.version)
    assert live() == (before[0] + 1, CHANGED)


def test_what_was_saved_after_the_manager_looked_is_not_published():
    alice, mona = person(), person(Role.MANAGER)
    draft, before = drafted(alice), live()
    drafting.save(
        draft_id=draft.pk, author=alice, document={"max_retries": 0}, note="", version=draft.version
    )
    with pytest.raises(Conflict, match="saved again"):
        drafting.publish(draft_id=draft.pk, publisher=mona, version=draft.version)
    assert live() == before


def test_publishing_twice_by_the_same_person_is_one_version():
    mona, draft = person(Role.MANAGER), drafted()
    results = together(
        *[lambda: drafting.publish(draft_id=draft.pk, publisher=mona, version=draft.version)] * 3
    )
    assert {result.version for result in results} == {live()[0]}
    with pytest.raises(Conflict, match="was published as version"):
        drafting.publish(draft_id=draft.pk, publisher=person(Role.MANAGER), version=draft.version)


def test_two_drafts_of_one_version_cannot_both_replace_it():
    mona = person(Role.MANAGER)
    one, other = drafted(), drafted(document={"max_retries": 1})
    number = live()[0]
    results = together(
        lambda: drafting.publish(draft_id=one.pk, publisher=mona, version=one.version),
        lambda: drafting.publish(draft_id=other.pk, publisher=mona, version=other.version),
    )
    assert [type(result) for result in results if not isinstance(result, PolicyVersion)] == [Conflict]
    assert live()[0] == number + 1


def test_a_save_with_mistakes_stores_nothing_and_names_each():
    draft = drafted()
    with pytest.raises(InvalidInput) as refused:
        drafting.save(
            draft_id=draft.pk,
            author=draft.author,
            document={"max_retries": "two", "checks": {"HC-999": {}}, "surprise": 1},
            note="",
            version=draft.version,
        )
    assert {error.pointer for error in refused.value.errors} == {"/max_retries", "/surprise"}
    draft.refresh_from_db()
    assert draft.document == CHANGED


def test_a_draft_belongs_to_its_author():
    draft, bob = drafted(), person(name="bob")
    for act in (
        lambda: drafting.save(draft_id=draft.pk, author=bob, document={}, note="", version=draft.version),
        lambda: drafting.catch_up(draft_id=draft.pk, author=bob, version=draft.version),
        lambda: drafting.discard(draft_id=draft.pk, person=bob),
    ):
        with pytest.raises(NotAllowed, match="’s draft"):
            act()
    assert PolicyDraft.objects.get(pk=draft.pk).version == draft.version


def test_a_discarded_draft_is_closed_for_good():
    draft, mona, before = drafted(), person(Role.MANAGER), live()
    drafting.discard(draft_id=draft.pk, person=mona)
    drafting.discard(draft_id=draft.pk, person=draft.author)
    assert actions()[-1] == "policy.discarded"
    with pytest.raises(Conflict, match="discarded"):
        drafting.publish(draft_id=draft.pk, publisher=mona, version=draft.version + 1)
    with pytest.raises(Conflict, match="discarded"):
        drafting.save(draft_id=draft.pk, author=draft.author, document={}, note="", version=draft.version + 1)
    assert live() == before


def test_a_draft_that_does_not_exist_is_said_plainly():
    with pytest.raises(NotFound):
        drafting.publish(draft_id=uuid7(), publisher=person(Role.MANAGER), version=1)


def test_a_failing_audit_entry_leaves_the_policy_as_it_was(monkeypatch):
    draft, before = drafted(), live()
    monkeypatch.setattr("checkpoints.services.audit.record", lambda entry: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        drafting.publish(draft_id=draft.pk, publisher=person(Role.MANAGER), version=draft.version)
    monkeypatch.undo()
    assert live() == before
    assert PolicyDraft.objects.get(pk=draft.pk).closed_at is None
