"""What was answered with 201 survives every death, and verdicts resume by themselves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from checkpoints.models import AuditEntry, CheckRun, Handoff
from checkpoints.services.tokens import create_token
from checkpoints.types import Actor
from tests import characters
from tests.stack import Broker, Stack, stack

pytestmark = pytest.mark.xdist_group("survival")  # one set of programs serves them all
# CI hits the same crash points in `make chaos`, with a checker of its own; starting programs anew takes long.
covered_by_chaos = pytest.mark.full


@pytest.fixture(scope="module")
def token(django_db_setup: None, django_db_blocker: Any) -> str:
    system = Actor("system", "system:test", "Test")
    with django_db_blocker.unblock():
        return create_token(orchestrator_name=characters.fresh("orchestrator"), actor=system)[0]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    found = Broker(tmp_path_factory.mktemp("broker") / "valkey.log")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def programs(
    server_environment: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    token: str,
    broker: Broker,
) -> Iterator[Stack]:
    environment = server_environment | {"REDIS_URL": broker.url}
    logs = tmp_path_factory.mktemp("logs")
    with stack(environment, logs, "web", "worker", "beat", token=token) as found:
        yield found


@pytest.fixture
def whole(programs: Stack, db: None) -> Stack:
    """Web, worker and schedule, whatever the test before left of them."""
    for name in ("web", "worker", "beat"):
        if name not in programs.running:
            programs.start(name)
    programs.wait_for_web()
    return programs


@pytest.fixture
def web(whole: Stack) -> Stack:
    """Nobody checks: what is posted stays received."""
    for name in ("worker", "beat"):
        whole.kill(name)
    return whole


def test_a_checkpoint_posted_to_the_running_product_gets_its_verdict(whole: Stack) -> None:
    first = whole.post(characters.document(), Prefer="wait=15")
    assert first.status == 201
    whole.wait_for_state(first.json["checkpoint_id"], "cleared")
    began = time.monotonic()
    answer = whole.post(characters.document(), Prefer="wait=15")
    assert (answer.status, answer.json["state"], answer.headers["preference-applied"]) == (
        201,
        "cleared",
        "wait=15",
    )
    assert time.monotonic() - began < 5


def test_the_doorbell_alone_brings_a_verdict(whole: Stack) -> None:
    whole.kill("beat")
    answer = whole.post(characters.document(), Prefer="wait=30")
    assert (answer.status, answer.json["state"]) == (201, "cleared")


@covered_by_chaos
def test_a_web_process_killed_between_commit_and_answer_loses_nothing(web: Stack) -> None:
    document = characters.document()
    del document["checkpoint_id"]
    document = characters.seal({key: document[key] for key in document if key != "consistency_hash"})
    web.kill("web")
    web.start("web", FAULT="admission.after_commit")
    web.wait_for_web()
    with pytest.raises(OSError):  # noqa: PT011 - the connection dies in more than one way
        web.post(document)
    web.running.pop("web").wait()
    web.start("web")
    web.wait_for_web()
    answer = web.post(document)
    assert (answer.status, answer.headers["idempotency-replayed"]) == (200, "true")
    assert Handoff.objects.filter(session__session_id=document["session_id"]).count() == 1


@covered_by_chaos
def test_a_web_process_killed_before_its_commit_stores_nothing(web: Stack) -> None:
    document = characters.document()
    web.kill("web")
    web.start("web", FAULT="admission.before_commit")
    web.wait_for_web()
    with pytest.raises(OSError):  # noqa: PT011 - the connection dies in more than one way
        web.post(document)
    assert not Handoff.objects.filter(checkpoint_id=document["checkpoint_id"]).exists()
    web.running.pop("web").wait()
    web.start("web")
    web.wait_for_web()
    assert web.post(document).status == 201


@covered_by_chaos
@pytest.mark.parametrize("point", ["drain.after_claim", "drain.before_write"])
def test_a_worker_killed_in_mid_drain_leaves_no_checkpoint_behind(web: Stack, point: str) -> None:
    ids = [web.post(characters.document()).json["checkpoint_id"] for _ in range(5)]
    web.start("worker", FAULT=point)
    web.start("beat")
    deadline = time.monotonic() + 15
    while (
        time.monotonic() < deadline
        and not Handoff.objects.filter(checkpoint_id__in=ids, check_attempts__gte=1).exists()
    ):
        time.sleep(0.1)
    web.kill("worker")
    web.start("worker")
    for checkpoint_id in ids:
        whole_state = web.wait_for_state(checkpoint_id, "cleared", "flagged", seconds=40)
        assert whole_state in ("cleared", "flagged")
    handoffs = Handoff.objects.filter(checkpoint_id__in=ids)
    assert CheckRun.objects.filter(handoff__in=handoffs).count() == len(ids)
    for handoff in handoffs:
        actions = AuditEntry.objects.filter(subject_id=str(handoff.pk)).order_by("subject_index")
        assert [entry.subject_index for entry in actions] == [0, 1]


def test_a_document_that_kills_its_check_is_flagged_and_delays_nobody(web: Stack) -> None:
    poison = characters.document(checkpoint_id="poison-" + characters.fresh("x"))
    others = [characters.document() for _ in range(5)]
    for document in (poison, *others):
        assert web.post(document).status == 201
    web.start("worker", FAULT_CHECK_PREFIX="poison-")
    web.start("beat")
    began = time.monotonic()
    for document in others:
        web.wait_for_state(document["checkpoint_id"], "cleared", seconds=60)
    web.wait_for_state(poison["checkpoint_id"], "flagged", seconds=60)
    assert time.monotonic() - began < 60
    handoff = Handoff.objects.get(checkpoint_id=poison["checkpoint_id"])
    assert handoff.finding_codes == ["SYS-02"]
    assert handoff.check_attempts == 3


@pytest.mark.full  # one of them takes as long as a worker may be deaf
@pytest.mark.parametrize("how", ["kill", "pause"])
def test_posting_goes_on_at_full_rate_while_the_broker_is_away(
    whole: Stack, broker: Broker, how: str
) -> None:
    whole.wait_for_state(whole.post(characters.document()).json["checkpoint_id"], "cleared", seconds=60)
    normal = rate(whole)
    with broker.away(how):
        away = rate(whole)
        last = whole.post(characters.document()).json["checkpoint_id"]
    assert away >= 0.5 * normal, f"{away:.0f} posts a second instead of {normal:.0f}"
    # All that was posted meanwhile comes first, and a busy machine takes its time: what counts is that nobody helps.
    whole.wait_for_state(last, "cleared", seconds=150)


def rate(found: Stack, posts: int = 60) -> float:
    """Posts per second, one after another; every one is answered with 201."""
    documents = [characters.document() for _ in range(posts)]
    began = time.monotonic()
    assert {found.post(document).status for document in documents} == {201}
    return posts / (time.monotonic() - began)
