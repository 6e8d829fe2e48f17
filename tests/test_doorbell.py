"""The bell: one message on the broker wakes the drain, however many posts ring."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
import redis
from django.conf import settings

from checkpoints import doorbell
from tests.stack import ROOT

QUEUE = "celery"


@pytest.fixture
def broker(django_db_setup: None) -> Iterator[redis.Redis]:
    """This worker's broker, with no bell rung and no message waiting."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.delete(doorbell.FLAG, QUEUE)
    yield client
    client.delete(doorbell.FLAG, QUEUE)
    client.close()


def messages(broker: redis.Redis, count: int, seconds: float = 3.0) -> list[bytes]:
    """The waiting messages, as soon as there are `count`; those of the end of the time otherwise."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and broker.llen(QUEUE) < count:
        time.sleep(0.02)
    return [bytes(item) for item in broker.lrange(QUEUE, 0, -1) if isinstance(item, bytes)]


def test_a_ring_sends_one_message_for_the_drain(broker: redis.Redis) -> None:
    doorbell.ring()
    (message,) = messages(broker, 1)
    assert json.loads(message)["headers"]["task"] == "checkpoints.drain"


def test_many_rings_send_one_message_until_a_drain_starts(broker: redis.Redis) -> None:
    for _ in range(50):
        doorbell.ring()
    assert len(messages(broker, 1)) == 1
    time.sleep(0.1)
    doorbell.ring()
    time.sleep(0.1)
    assert len(messages(broker, 2, seconds=0.2)) == 1
    doorbell.answered()
    doorbell.ring()
    assert len(messages(broker, 2)) == 2


def test_a_web_process_rings_though_it_never_imports_the_worker_s_application(
    broker: redis.Redis, server_environment: dict[str, str]
) -> None:
    code = "import django, time; django.setup(); from checkpoints import doorbell; doorbell.ring(); time.sleep(1.5)"
    environment = os.environ | server_environment | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)
    assert len(messages(broker, 1)) == 1
