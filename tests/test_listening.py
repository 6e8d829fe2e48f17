"""A worker that no longer takes work is noticed, and ends; one that works or waits is left alone."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings

from reviewqueue.listening import EXIT_CODE, PATIENCE_SECONDS, Listening
from tests.stack import ROOT, Broker

QUEUE = "listening"


class Worker:
    """What the watch sees of a worker."""

    def __init__(self, broker: redis.Redis) -> None:
        self.messages_taken, self.is_busy = 0, False
        self.listening = Listening(
            broker=broker,
            queue=QUEUE,
            taken=lambda: self.messages_taken,
            busy=lambda: self.is_busy,
            longest_task=20,
        )
        self.listening.is_deaf(0)


@pytest.fixture
def broker(django_db_setup: None) -> Iterator[redis.Redis]:
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete(QUEUE)
    yield client
    client.delete(QUEUE)
    client.close()


@pytest.fixture
def worker(broker: redis.Redis) -> Worker:
    return Worker(broker)


def test_messages_that_nobody_takes_for_long_enough_prove_a_deaf_worker(
    broker: redis.Redis, worker: Worker
) -> None:
    broker.rpush(QUEUE, "work")
    assert not worker.listening.is_deaf(1)
    assert not worker.listening.is_deaf(PATIENCE_SECONDS)
    assert worker.listening.is_deaf(1 + PATIENCE_SECONDS)


def test_an_empty_queue_proves_nothing(worker: Worker) -> None:
    assert not any(worker.listening.is_deaf(at) for at in (1, 100, 1000))


def test_a_worker_that_takes_one_message_now_and_then_hears(broker: redis.Redis, worker: Worker) -> None:
    broker.rpush(QUEUE, "work", "more work")
    for at in range(0, 200, 10):
        worker.messages_taken += 1
        assert not worker.listening.is_deaf(at)


def test_a_worker_whose_processes_are_all_busy_has_as_long_as_a_task_may_take(
    broker: redis.Redis, worker: Worker
) -> None:
    broker.rpush(QUEUE, "work")
    worker.is_busy = True
    worker.listening.is_deaf(0)
    assert not worker.listening.is_deaf(PATIENCE_SECONDS + 19)
    assert worker.listening.is_deaf(PATIENCE_SECONDS + 20)


def test_a_broker_that_is_away_starts_the_wait_anew(tmp_path: Path) -> None:
    server = Broker(tmp_path / "valkey.log")
    try:
        client = redis.Redis.from_url(server.url)
        push(client)
        worker = Worker(client)
        assert not worker.listening.is_deaf(1)
        with server.away("kill"):
            assert not worker.listening.is_deaf(100)
        push(client)
        assert not worker.listening.is_deaf(101)
        assert worker.listening.is_deaf(101 + PATIENCE_SECONDS)
        client.close()
    finally:
        server.stop()


def push(client: redis.Redis, seconds: float = 30) -> None:
    """Put a message into the queue as soon as the broker takes it."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            client.rpush(QUEUE, "work")
            return
        except redis.RedisError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


DEAF = """
import sys, time
import billiard, redis
from reviewqueue import listening

listening.PATIENCE_SECONDS = 1.0
pool = billiard.Process(target=time.sleep, args=(60,))
pool.start()
print(pool.pid, flush=True)
listening.watch(
    listening.Listening(
        broker=redis.Redis.from_url(sys.argv[1]), queue=sys.argv[2], taken=lambda: 0, busy=lambda: False, longest_task=0
    )
)
time.sleep(60)
"""


def test_a_deaf_worker_ends_with_its_pool(broker: redis.Redis) -> None:
    broker.rpush(QUEUE, "work")
    process = subprocess.Popen(
        [sys.executable, "-c", DEAF, settings.REDIS_URL, QUEUE], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    pool = int(process.stdout.readline())
    assert process.wait(timeout=30) == EXIT_CODE
    process.stdout.close()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pool}").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(f"/proc/{pool}").exists()
