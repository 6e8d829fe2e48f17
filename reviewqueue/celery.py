"""The Celery application. Its settings are the `CELERY_…` names of `reviewqueue.settings`."""

from __future__ import annotations

import logging.config
import os
from collections import Counter
from typing import Any

import redis
from celery import Celery
from celery.signals import setup_logging, task_received, task_revoked, worker_process_init, worker_ready
from celery.worker.state import active_requests
from django.conf import settings

from reviewqueue.listening import TIMEOUT_SECONDS, Listening, watch
from reviewqueue.processes import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reviewqueue.settings")
# Django's checks import every page to look at its address. `make check` runs them; a worker starts a second sooner.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("reviewqueue")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@setup_logging.connect
def keep_our_logging(**_: Any) -> None:
    """Celery replaces the logging configuration unless somebody answers this signal."""
    logging.config.dictConfig(settings.LOGGING)


@worker_process_init.connect
def end_with_the_worker(**_: Any) -> None:
    """A pool process that is busy when its worker is killed must not finish alone."""
    die_with_parent()


@worker_ready.connect
def end_when_deaf(**_: Any) -> None:
    """See reviewqueue.listening. Messages that had expired count as taken, too."""
    taken: Counter[str] = Counter()

    def note(**_: Any) -> None:
        taken["messages"] += 1

    task_received.connect(note, weak=False)
    task_revoked.connect(note, weak=False)
    watch(
        Listening(
            broker=redis.Redis.from_url(
                settings.REDIS_URL, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
            ),
            queue=app.conf.task_default_queue,
            taken=taken.total,
            busy=lambda: len(active_requests) >= settings.WORKER_PROCESSES,
            longest_task=settings.CELERY_TASK_TIME_LIMIT,
        )
    )


@worker_ready.connect
def sweep_at_once(**_: Any) -> None:
    """What became due while no worker ran need not wait for the schedule, and `/readyz` sees the worker."""
    app.send_task("checkpoints.sweep", expires=5)
