"""Posts that arrive together share a commit, and nobody pays for another's fault."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from checkpoints.models import AuditEntry, CheckpointBody, Handoff
from checkpoints.services.group_commit import GroupCommit
from tests import characters
from tests.api.calling import Api


class Store:
    """Doubles numbers, slowly; remembers which came together. A negative number fails its whole group."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []

    def write(self, items: Sequence[int]) -> list[int]:
        time.sleep(0.02)
        self.groups.append(list(items))
        if any(item < 0 for item in items):
            raise ValueError(f"cannot store {[item for item in items if item < 0]}")
        return [2 * item for item in items]


def at_once(group: GroupCommit[int, int], items: Sequence[int]) -> list[Any]:
    return characters.together(*[lambda item=item: group.submit(item) for item in items])


def test_one_alone_waits_for_nobody() -> None:
    store = Store()
    assert GroupCommit(store.write, most=8).submit(3) == 6
    assert store.groups == [[3]]


def test_those_who_come_meanwhile_share_the_next_commit_and_get_their_own_result() -> None:
    store = Store()
    items = list(range(40))
    assert at_once(GroupCommit(store.write, most=64), items) == [2 * item for item in items]
    assert sorted(item for group in store.groups for item in group) == items
    assert len(store.groups) < len(items) / 2


def test_a_commit_never_holds_more_than_the_most() -> None:
    store = Store()
    at_once(GroupCommit(store.write, most=4), range(20))
    assert max(len(group) for group in store.groups) <= 4


def test_only_the_one_at_fault_fails() -> None:
    store = Store()
    items = [1, 2, -3, 4, 5, -6, *range(7, 20)]
    results = at_once(GroupCommit(store.write, most=64), items)
    for item, result in zip(items, results, strict=True):
        if item < 0:
            assert isinstance(result, ValueError)
            assert str(result) == f"cannot store [{item}]"
        else:
            assert result == 2 * item


def test_after_a_failure_the_next_one_is_stored() -> None:
    store = Store()
    group = GroupCommit(store.write, most=8)
    with pytest.raises(ValueError, match="cannot store"):
        group.submit(-1)
    assert group.submit(1) == 2


def test_many_threads_for_a_while_lose_nothing() -> None:
    store = Store()
    group = GroupCommit(store.write, most=8)
    wrong: list[int] = []

    def work(number: int) -> None:
        for step in range(15):
            item = number * 1000 + step + 1
            if group.submit(item) != 2 * item:
                wrong.append(item)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert sum(len(items) for items in store.groups) == 12 * 15


# The real gate


def post(api: Api, body: bytes) -> Any:
    """As `Api.submit`, without the check against the description, which is not made for threads."""
    return api.client.generic(
        "POST", "/api/v1/checkpoints", body, content_type="application/json", CONTENT_TYPE="application/json"
    )


def test_posts_at_once_are_each_stored_whole(db: None) -> None:
    api = Api()
    bodies = [json.dumps(characters.document()).encode() for _ in range(24)]
    answers = characters.together(*[lambda body=body: post(api, body) for body in bodies])
    assert [answer.status_code for answer in answers] == [201] * 24
    stored = Handoff.objects.filter(orchestrator=api.owner)
    assert stored.count() == 24
    kept = CheckpointBody.objects.filter(checkpoint__handoff__in=stored).values_list("content", flat=True)
    assert sorted(bytes(content) for content in kept) == sorted(bodies)
    entries = AuditEntry.objects.filter(
        action="handoff.received", subject_id__in=[str(row.pk) for row in stored]
    )
    assert entries.count() == 24


def test_the_same_bytes_at_once_are_stored_once(db: None) -> None:
    api = Api()
    body = json.dumps(characters.document()).encode()
    answers = characters.together(*[lambda: post(api, body)] * 12)
    assert sorted(answer.status_code for answer in answers) == [200] * 11 + [201]
    assert len({answer.json()["checkpoint_id"] for answer in answers}) == 1
    assert Handoff.objects.filter(orchestrator=api.owner).count() == 1


def test_one_id_with_different_bytes_at_once_is_stored_once_and_the_others_are_told(db: None) -> None:
    api = Api()
    name = characters.fresh("ckpt")
    bodies = [
        json.dumps(characters.document(checkpoint_id=name, task_id=f"T-{number}")).encode()
        for number in range(8)
    ]
    answers = characters.together(*[lambda body=body: post(api, body) for body in bodies])
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
    stored = Handoff.objects.get(orchestrator=api.owner)
    for answer in answers:
        if answer.status_code == 409:
            assert answer.json()["type"] == "/problems/checkpoint-conflict"
            assert answer.json()["stored_digest"] == stored.body_digest


def test_one_session_at_once_is_numbered_without_gap(db: None) -> None:
    api = Api()
    session = characters.fresh("session")
    bodies = []
    for _ in range(16):
        value = characters.document(session_id=session)
        value.pop("handoff_sequence", None)
        bodies.append(json.dumps(characters.seal(value)).encode())
    answers = characters.together(*[lambda body=body: post(api, body) for body in bodies])
    assert [answer.status_code for answer in answers] == [201] * 16
    assert sorted(answer.json()["handoff_sequence"] for answer in answers) == list(range(1, 17))
